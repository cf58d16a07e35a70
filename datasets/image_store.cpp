#include "datasets/image_store.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>
#include <unordered_set>

#include "datasets/archive_store.h"
#include "datasets/dataset.h"
#include "datasets/file.h"
#include "datasets/image.h"
#include "datasets/macrobatches.h"
#include "datasets/tar.h"
#include "neon/core/key_error.h"
#include "neon/core/message.h"
#include "neon/core/nearest_file.h"
#include "neon/core/paths.h"

namespace neon {

void OpenStore::want(std::vector<std::string> names) {
  ImageStore::want(std::move(names));
  order_ = quick_order();
  at_ = 0;
}

std::vector<ImageStore::File> OpenStore::next() {
  std::vector<File> out;
  for (; at_ < wanted_.size() && out.size() < kFilesAtOnce; ++at_)
    out.push_back({order_.empty() ? at_ : order_[at_], ""});
  return out;
}

std::vector<ImageStore::File> OrderedStore::next() {
  std::vector<File> out;
  TarReader& tar = archive();
  for (int64_t bytes = 0; out.size() < kFilesAtOnce && bytes < kBytesAtOnce && tar.next();) {
    const std::optional<size_t> index = index_of(tar.name());
    if (!index) continue;
    out.push_back({*index, tar.content(kMostImageBytes)});
    bytes += tar.size();
  }
  return out;
}

void OrderedStore::read(const std::string&, std::string&) const { fail(ErrorKind::failed, only_in_order()); }

namespace {

class FolderStore : public OpenStore {
 public:
  explicit FolderStore(const std::string& path) : folder_(path) {
    path_ = path;
    namespace fs = std::filesystem;
    std::error_code error;
    const auto options = fs::directory_options::follow_directory_symlink;
    const size_t before = (fs::path(path) / "").string().size();  // the length of a file's path before its name
    for (fs::recursive_directory_iterator at(path, options, error), end; !error && at != end; at.increment(error)) {
      if (at.depth() > kMostDepth)
        fail(ErrorKind::data, printable(at->path().string()), ": more than ", kMostDepth,
             " folders deep; does a link lead back up?");
      const std::string name = at->path().string().substr(before);
      const bool is_folder = at->is_directory(error), leads_nowhere = !at->exists(error);
      if (!is_folder && !(leads_nowhere && !is_image_name(name))) {
        names_.push_back(name);
        if (!at->is_regular_file(error)) others_.insert(name);
      } else if (!is_folder || fs::is_empty(at->path(), error)) {  // a broken link may have led to a folder
        empty_folders_.push_back(name);
      }
    }
    if (error) fail(ErrorKind::data, path, ": cannot be read: ", error.message());
    std::ranges::sort(names_);
    std::ranges::sort(empty_folders_);
  }
  std::string where(const std::string& name) const override { return printable(join_path(path_, name)); }
  void read(const std::string& name, std::string& to) const override {
    std::error_code ignored;
    if (others_.count(name) && !std::filesystem::exists(join_path(path_, name), ignored))
      fail(ErrorKind::data, where(name), ": a link to a missing file");
    folder_.read(name, kMostImageBytes, to);
  }
  std::string end_of(const std::string& name, int64_t most) const override {
    if (others_.count(name)) return ImageStore::end_of(name, most);
    const FileSource file(join_path(path_, name));
    std::string out(size_t(std::min(file.size(), most)), '\0');
    file.read_at(file.size() - int64_t(out.size()), out.data(), out.size());
    return out;
  }
  int64_t bytes_of(const std::string& name) const override {
    return others_.count(name) ? 0 : file_size(join_path(path_, name));
  }

 private:
  static constexpr int kMostDepth = 20;
  const OpenFolder folder_;
  std::unordered_set<std::string> others_;  // broken links, pipes and devices, which read() refuses
};

// A compressed archive.
class PackedStore : public OrderedStore {
 public:
  explicit PackedStore(const std::string& path) {
    path_ = path;
    for (TarReader tar(path); tar.next();) {
      names_.push_back(tar.name());
      bytes_[tar.name()] = tar.size();
    }
    std::ranges::sort(names_);
    const auto twice = std::ranges::adjacent_find(names_);
    if (twice != names_.end()) fail(ErrorKind::data, where(*twice), ": is in the archive twice");
  }
  std::string where(const std::string& name) const override { return printable(path_ + ": " + name); }
  void want(std::vector<std::string> names) override {
    ImageStore::want(std::move(names));
    tar_ = std::make_unique<TarReader>(path_);
    index_.clear();
    for (size_t i = 0; i < wanted_.size(); ++i) index_[wanted_[i]] = i;
  }
  std::string only_in_order() const override {
    return path_ + ": a compressed archive is read from its start to its end only";
  }
  int64_t bytes_of(const std::string& name) const override { return bytes_.at(name); }

 protected:
  TarReader& archive() override { return *tar_; }
  std::optional<size_t> index_of(const std::string& name) override {
    const auto found = index_.find(name);
    return found == index_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::unordered_map<std::string, int64_t> bytes_;
  std::unique_ptr<TarReader> tar_;
  std::unordered_map<std::string, size_t> index_;
};

std::unique_ptr<ImageStore> open_archive(const std::string& path) {
  if (GzipReader(path).plain_size() < 0) return std::make_unique<PackedStore>(path);
  auto out = std::make_unique<ArchiveStore>(path);
  out->add(path, [](const std::string& name) { return name; });
  out->finish();
  return out;
}

// Several archives of one set.
std::unique_ptr<ImageStore> open_archives(const std::string& path, const std::vector<std::string>& archives,
                                          const std::string& common) {
  if (archives.size() == 1) return open_archive(archives.front());
  auto out = std::make_unique<ArchiveStore>(path);
  for (const NamedArchive& archive : name_archives(archives, common)) {
    if (!is_tar_name(archive.path))
      fail(ErrorKind::data, archive.path, ": expected a tar archive, as others of ", path, " are");
    if (GzipReader(archive.path).plain_size() < 0)
      fail(ErrorKind::data, archive.path, ": is compressed, and one of ", archives.size(),
           " archives; several archives must be plain .tar; unpack them with gunzip");
    out->add(archive);
  }
  out->finish();
  return out;
}

std::unique_ptr<ImageStore> open_folder(const std::string& path, const Macrobatches& chosen) {
  if (is_imagenet(path) && !chosen.is_given()) return open_imagenet(path);
  auto out = std::make_unique<FolderStore>(path);
  const auto& names = out->names();
  if (chosen.is_given()) return open_macrobatches(path, names, chosen);
  if (std::ranges::any_of(names, is_image_name)) return out;
  if (has_macrobatches(path)) return open_macrobatches(path, names, chosen);
  if (std::ranges::binary_search(names, "index.json") &&
      std::ranges::any_of(names, [](const std::string& name) { return name.ends_with(".shard"); }))
    fail(ErrorKind::data, path, ": is what neon data pack wrote; to read it: dataset: {Shards: {path: ", path, "}}");
  std::vector<std::string> archives;
  std::ranges::copy_if(names, std::back_inserter(archives), is_tar_name);
  if (archives.empty()) return out;
  for (std::string& archive : archives) archive = join_path(path, archive);
  return open_archives(path, archives, join_path(path, ""));
}

}  // namespace

std::unique_ptr<ImageStore> open_image_store(const std::string& path, const Macrobatches& chosen) {
  if (chosen.is_given() && !has_macrobatches(path))
    fail(ErrorKind::config, "macrobatches chooses among data_batch_0 and so on of neon 0.9, but ", printable(path),
         " has no dataset_cache.pkl; leave macrobatches out");
  std::unique_ptr<ImageStore> out;
  if (folder_exists(path)) {
    out = open_folder(path, chosen);
  } else if (is_pattern(path) && !file_exists(path)) {
    const auto archives = expand_pattern(path);
    if (archives.empty()) fail(ErrorKind::data, path, ": no archive matches");
    for (const std::string& archive : archives)
      if (is_pattern(archive) && !file_exists(archive))
        fail(ErrorKind::data, printable(archive), ": there is no such archive, but the braces of ", printable(path),
             " list it");
    out = open_archives(path, archives, common_folder(archives));
  } else if (is_tar_name(path)) {
    out = open_archive(path);
  } else {
    fail(ErrorKind::data, path, ": expected a folder of images, or an archive .tar, .tar.gz or .tgz of one",
         is_image_name(path) ? "; this is an image" : "");
  }
  if (out->names().empty()) fail(ErrorKind::data, path, ": holds no file");
  return out;
}

std::unique_ptr<ImageStore> open_image_store(const std::string& path) { return open_image_store(path, Macrobatches()); }

std::string find_image_store(const std::string& path, const DataContext& context, std::string& looked_for) {
  const std::vector<std::string> places = context.places_of(path);
  for (const std::string& place : places)
    if (folder_exists(place) || file_exists(place)) {
      context.check_may_read(place, path);
      return place;
    }
  if (is_pattern(path))
    for (const std::string& place : places) {
      const std::vector<std::string> found = expand_pattern(place);
      for (const std::string& archive : found) context.check_may_read(archive, path);
      if (std::ranges::any_of(found, file_exists)) return place;
    }
  context.refuse_forbidden(path);
  looked_for = list_text(places) +
               nearest_file(path, [](const std::string& near) { return folder_exists(near) || is_tar_name(near); });
  return "";
}

}  // namespace neon
