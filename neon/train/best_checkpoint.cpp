#include "neon/train/best_checkpoint.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "neon/core/error.h"
#include "neon/train/checkpoint.h"
#include "neon/train/checkpoint_verify.h"

namespace neon {

namespace {

// What `work` throws as a warning: the training goes on without a best checkpoint.
std::string warning_of(auto&& work) {
  try {
    work();
    return "";
  } catch (const Error& error) {
    return text("warning: the best checkpoint is not kept: ", error.what());
  }
}

}  // namespace

bool BestCheckpoint::is_there() const { return access(path_.c_str(), F_OK) == 0; }

void BestCheckpoint::hold(const TensorFile& net, int64_t epoch) {
  held_ = net;
  for (NamedTensor& named : held_.tensors) named.tensor = named.tensor.clone();
  epoch_ = epoch;
  holds_ = true;
}

// A kill leaves the former best or this one.
void BestCheckpoint::put() {
  if (std::rename(beside().c_str(), path_.c_str()) != 0)
    fail(ErrorKind::failed, "cannot write ", path_, ": ", system_message(errno));
  written_ = true;
}

std::string BestCheckpoint::write() {
  if (!holds_) return "";
  return warning_of([&] {
    CheckpointSaver(beside(), 0).save(held_, epoch_);
    put();
    drop();
    sync_folder_of(path_);
  });
}

std::string BestCheckpoint::take(const std::string& checkpoint) {
  drop();
  return warning_of([&] {
    unlink(beside().c_str());
    const std::string from = follow_links(checkpoint);
    std::error_code error;
    if (link(from.c_str(), beside().c_str()) != 0) std::filesystem::copy_file(from, beside(), error);
    if (error) fail(ErrorKind::failed, "cannot copy ", from, " to ", path_, ": ", error.message());
    put();  // a loss of power may leave the former best: see mend
  });
}

std::string BestCheckpoint::mend(const std::string& checkpoint, int64_t epoch) {
  try {
    if (metadata_number(SafetensorsReader(path_).header(), kEpochKey, path_) == epoch) return "";
  } catch (const Error&) {  // missing or damaged
  }
  return take(checkpoint);
}

}  // namespace neon
