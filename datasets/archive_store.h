// Files of plain tar archives, read in place.
#pragma once
#include <functional>
#include <unordered_map>

#include "datasets/archive_names.h"
#include "datasets/file.h"
#include "datasets/image_store.h"

namespace neon {

// A file that lies in another one.
struct ArchivePart {
  std::string name;  // in the store
  int64_t place, bytes;
};

class ArchiveStore : public OpenStore {
 public:
  explicit ArchiveStore(std::string path) { path_ = std::move(path); }
  // Adds the files of an archive, and of archives in it: FILE of NAME.tar becomes NAME/FILE. Reads headers only.
  // `called` gives a file its name in this store.
  void add(const std::string& archive, const std::function<std::string(const std::string&)>& called);
  // One of several archives of a set: its files become NAME/FILE, in the layout of its part and folder.
  void add(const NamedArchive& archive);
  // The same for a file of another form, whose parts are known.
  void add(const std::string& archive, const std::vector<ArchivePart>& parts);
  // After the last archive: sorts the names.
  void finish();

  std::string where(const std::string& name) const override;
  std::string layout(const std::string& name) const override;
  void check_class_folders() const override;
  void read(const std::string& name, std::string& to) const override;
  int64_t bytes_of(const std::string& name) const override { return members_.at(name).bytes; }

 protected:
  std::vector<size_t> quick_order() const override;

 private:
  // A process may open about a thousand files, so not all of many archives stay open.
  struct Archive {
    std::string path;
    std::unique_ptr<FileSource> open;
    bool one_of_several = false;
    std::string part, folder;  // as of a NamedArchive
  };
  struct Member {
    size_t archive = 0;
    int64_t place = 0, bytes = 0;
    std::string name;  // in the archive
  };
  void collect(size_t archive, int64_t begin, int64_t bytes, const std::string& folder,
               const std::function<std::string(const std::string&)>& called);

  std::vector<Archive> archives_;
  std::unordered_map<std::string, Member> members_;
};

// The archives of ImageNet's 1000 classes as image-net.org gives them, in one folder. ILSVRC2012_img_train.tar has a
// tar for each class. ILSVRC2012_devkit_t12.tar.gz has the classes of ILSVRC2012_img_val.tar. Its files are
// train/CLASS/IMAGE and val/CLASS/IMAGE.
bool is_imagenet(const std::string& folder);
std::unique_ptr<ImageStore> open_imagenet(const std::string& folder);

}  // namespace neon
