// Saving. See checkpoint.h for the order of things that makes it safe.
#include "neon/train/checkpoint.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "neon/train/checkpoint_verify.h"

namespace neon {

namespace {

std::string new_run() {
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != ssize_t(sizeof bits))
    fail(ErrorKind::failed, "no random number for the run's name: ", system_message(errno));
  char buffer[24];
  std::snprintf(buffer, sizeof buffer, "%016llx", static_cast<unsigned long long>(bits));
  return buffer;
}

bool there(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0;
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat x, y;
  return lstat(a.c_str(), &x) == 0 && lstat(b.c_str(), &y) == 0 && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

// Header text and data order of a checkpoint, with checksums filled in.
std::string sealed_header(TensorFile& contents, std::vector<size_t>& order) {
  std::map<std::string, std::string> sums;
  for (const auto& [name, tensor] : contents.tensors) sums[name] = checksum(tensor.data(), tensor.bytes());
  contents.metadata[kChecksumsKey] = format_texts(sums);
  contents.metadata[kHeaderChecksumKey] = "crc32:00000000";
  std::string header = format_header(lay_out(contents, order));
  seal_header(header);
  return header;
}

}  // namespace

CheckpointSaver::CheckpointSaver(std::string path, int history) : path_(std::move(path)), history_(history) {
  if (history < 0) fail(ErrorKind::config, "a history of ", history, " older checkpoints; expected at least 0");
}

std::vector<std::string> CheckpointSaver::save(TensorFile contents, int64_t epoch) {
  std::vector<std::string> messages;
  try {
    path_ = follow_links(path_);
    make_folder_of(path_);
    if (!looked_) look_at_existing(messages);
    if (run_.empty()) run_ = contents.metadata.contains(kRunKey) ? contents.metadata[kRunKey] : new_run();
    contents.metadata[kFormatKey] = std::to_string(kCheckpointFormat);
    contents.metadata[kRunKey] = run_;
    contents.metadata[kEpochKey] = std::to_string(epoch);
    contents.metadata[kNumberKey] = std::to_string(last_number_ + 1);
    write(contents, messages);
  } catch (const Error& error) {
    const std::string kept = newest_ ? text("the last checkpoint, of epoch ", newest_->epoch, ", is kept")
                                     : std::string("no earlier checkpoint exists");
    throw Error(error.kind() == ErrorKind::memory ? ErrorKind::memory : ErrorKind::failed,
                text("checkpoint of epoch ", epoch, " not saved: ", error.what(), "; ", kept));
  }
  newest_ = Saved{epoch, ++last_number_};
  try {
    sync_folder_of(path_);
    prune(messages);
  } catch (const Error& error) {
    messages.push_back(text("checkpoint of epoch ", epoch, " is saved, but ", error.what()));
  }
  return messages;
}

// The first save continues the numbers found, and must know whether the file in its place is worth keeping.
void CheckpointSaver::look_at_existing(std::vector<std::string>& messages) {
  for (const OlderCheckpoint& older : older_checkpoints(path_)) last_number_ = std::max(last_number_, older.number);
  if (there(path_)) {
    try {
      const SafetensorsReader reader(path_);
      verify_checkpoint(reader, path_);
      newest_ = Saved{metadata_number(reader.header(), kEpochKey, path_),
                      metadata_number(reader.header(), kNumberKey, path_)};
      last_number_ = std::max(last_number_, newest_->number);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data) throw;
      messages.push_back(error.what());
      unsound_ = true;
    }
  }
  looked_ = true;
}

// Everything up to the rename; a failure leaves all names as they were.
void CheckpointSaver::write(TensorFile& contents, std::vector<std::string>& messages) {
  std::vector<size_t> order;
  const std::string header = sealed_header(contents, order);
  const uint64_t length = header.size();
  const std::unique_ptr<AtomicFile> file = claim_ ? std::move(claim_) : std::make_unique<AtomicFile>(path_, &current_);
  file->write(&length, sizeof length);
  file->write(header.data(), header.size());
  for (size_t index : order) file->write(contents.tensors[index].tensor.data(), contents.tensors[index].tensor.bytes());
  file->sync();
  verify_checkpoint(SafetensorsReader(file->part_path()), file->part_path());
  const std::string aside = unsound_ && there(path_) ? set_aside(path_) : std::string();
  const std::string older = newest_ ? older_path(path_, newest_->epoch, newest_->number) : std::string();
  bool kept = false;
  try {
    kept = keep_previous(older, messages);
    file->rename_over();
  } catch (const Error&) {
    if (!aside.empty()) rename(aside.c_str(), path_.c_str());
    if (kept && there(path_)) unlink(older.c_str());
    else if (kept) rename(older.c_str(), path_.c_str());
    throw;
  }
  current_ = file->release();
  if (!aside.empty()) messages.push_back(text(path_, " is renamed to ", aside));
  unsound_ = false;
}

// Gives the newest so far its older name as well. Between this and the rename both names hold it; where
// the disk has no hard links only the older one does, which load_checkpoint looks at too.
bool CheckpointSaver::keep_previous(const std::string& older, std::vector<std::string>& messages) {
  if (history_ == 0 || !newest_ || !there(path_)) return false;
  if (link(path_.c_str(), older.c_str()) == 0) return true;
  const int error = errno;
  if (error == EEXIST && same_file(path_, older)) return true;  // a crash between this and the rename
  const bool no_links = error == EPERM || error == ENOTSUP || error == ENOSYS || error == EMLINK;
  if (no_links && !there(older) && rename(path_.c_str(), older.c_str()) == 0) return true;
  if (error == EEXIST) {
    messages.push_back(text(older, " is there and is another file: the checkpoint of epoch ", newest_->epoch,
                            " is not kept beside the new one"));
    return false;
  }
  fail(ErrorKind::failed, "cannot give ", path_, " its older name ", older, ": ", system_message(error));
}

void CheckpointSaver::prune(std::vector<std::string>& messages) {
  int kept = 0;
  for (const OlderCheckpoint& older : older_checkpoints(path_)) {
    try {
      const SafetensorsReader reader(older.path);
      const auto run = reader.header().metadata.find(kRunKey);
      if (run == reader.header().metadata.end() || run->second != run_) continue;
    } catch (const Error&) {
      continue;  // not known to be ours: never deleted
    }
    if (++kept <= history_) continue;
    if (unlink(older.path.c_str()) != 0)
      messages.push_back(text("cannot remove the old checkpoint ", older.path, ": ", system_message(errno)));
  }
}

}  // namespace neon
