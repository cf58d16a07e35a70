#include "datasets/archive_store.h"

#include <algorithm>
#include <numeric>

#include "datasets/image_samples.h"
#include "datasets/part_names.h"
#include "datasets/source_stream.h"
#include "datasets/tar.h"
#include "neon/core/error.h"

namespace neon {

namespace {

constexpr std::string_view kTarEnding = ".tar";
constexpr size_t kMostOpen = 64;

}  // namespace

void ArchiveStore::add(const std::string& archive, const std::function<std::string(const std::string&)>& called) {
  archives_.push_back({archive, std::make_unique<FileSource>(archive), false, "", ""});
  collect(archives_.size() - 1, 0, archives_.back().open->size(), "", called);
  if (archives_.size() > kMostOpen) archives_.back().open.reset();
}

void ArchiveStore::add(const NamedArchive& archive) {
  const size_t before = names_.size();
  add(archive.path, [&](const std::string& name) { return text(archive.name, "/", name); });
  Archive& added = archives_.back();
  added.one_of_several = true;
  added.part = archive.part;
  added.folder = archive.folder;
  if (names_.size() == before) return;
  // The folders in an archive say the part, if they are named train, val or test; its name then does not.
  const std::string& first = members_.at(names_[before]).name;
  const std::string folder = first.substr(0, std::min(first.find('/'), first.size()));
  if (part_named(folder) < 0) return;
  added.part.clear();
  added.folder.clear();
}

void ArchiveStore::add(const std::string& archive, const std::vector<ArchivePart>& parts) {
  archives_.push_back({archive, std::make_unique<FileSource>(archive), false, "", ""});
  for (const ArchivePart& part : parts) {
    members_.emplace(part.name, Member{archives_.size() - 1, part.place, part.bytes, part.name});
    names_.push_back(part.name);
  }
  if (archives_.size() > kMostOpen) archives_.back().open.reset();
}

// `folder`: of the archive within the archive, with a slash; "" of the outer one.
void ArchiveStore::collect(size_t archive, int64_t begin, int64_t bytes, const std::string& folder,
                           const std::function<std::string(const std::string&)>& called) {
  const FileSource& file = *archives_[archive].open;
  TarReader tar(std::make_unique<SourceStream>(
      file, begin, bytes, folder.empty() ? file.name() : printable(text(file.name(), ": ", folder))));
  while (tar.next()) {
    const int64_t place = begin + tar.place();
    const std::string& name = tar.name();
    if (folder.empty() && name.ends_with(kTarEnding)) {
      collect(archive, place, tar.size(), name.substr(0, name.size() - kTarEnding.size()) + "/", called);
      continue;
    }
    std::string own = called(folder + name);
    if (!members_.emplace(own, Member{archive, place, tar.size(), folder + name}).second)
      fail(ErrorKind::data, where(own), ": is in the archive twice");
    names_.push_back(std::move(own));
  }
}

void ArchiveStore::finish() { std::ranges::sort(names_); }

std::string ArchiveStore::where(const std::string& name) const {
  const Member& member = members_.at(name);
  return printable(text(archives_[member.archive].path, ": ", member.name));
}

std::string ArchiveStore::layout(const std::string& name) const {
  const Member& member = members_.at(name);
  const Archive& archive = archives_[member.archive];
  if (!archive.one_of_several) return name;
  return text(archive.part, archive.part.empty() ? "" : "/", archive.folder, member.name);
}

void ArchiveStore::check_class_folders() const {
  for (const std::string& name : names_) {
    const Member& member = members_.at(name);
    const std::string& folder = archives_[member.archive].folder;
    if (folder.empty() || member.name.find('/') == member.name.npos || member.name.starts_with(folder)) continue;
    if (is_image_name(member.name))
      fail(ErrorKind::data, where(name), ": its class may be ", in_quotes(member.name.substr(0, member.name.find('/'))),
           ", its folder in the archive, or ", in_quotes(folder.substr(0, folder.find('/'))),
           ", the folder of the archive; keep the folders of classes either in the archives or around them");
  }
}

// As the files lie.
std::vector<size_t> ArchiveStore::quick_order() const {
  std::vector<size_t> out(wanted().size());
  std::iota(out.begin(), out.end(), size_t(0));
  std::ranges::sort(out, {}, [&](size_t i) {
    const Member& member = members_.at(wanted()[i]);
    return std::pair(member.archive, member.place);
  });
  return out;
}

void ArchiveStore::read(const std::string& name, std::string& to) const {
  const Member& member = members_.at(name);
  if (member.bytes > kMostImageBytes)
    fail(ErrorKind::data, where(name), ": ", bytes_text(double(member.bytes)), " are too much for an image");
  to.resize(size_t(member.bytes));
  const Archive& archive = archives_[member.archive];
  if (archive.open) archive.open->read_at(member.place, to.data(), to.size());
  else FileSource(archive.path).read_at(member.place, to.data(), to.size());
}

}  // namespace neon
