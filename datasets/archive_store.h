// Files of tar archives that are not compressed, which are read where they lie.
#pragma once
#include <functional>
#include <unordered_map>

#include "datasets/archive_names.h"
#include "datasets/file.h"
#include "datasets/image_store.h"

namespace neon {

class ArchiveStore : public OpenStore {
 public:
  explicit ArchiveStore(std::string path) { path_ = std::move(path); }
  // Takes in the files of an archive, and those of an archive in it: FILE of NAME.tar is NAME/FILE. Only headers are
  // read. `called` says what each is called here.
  void add(const std::string& archive, const std::function<std::string(const std::string&)>& called);
  // One of several archives of one set: its files are called NAME/FILE, and are laid out as in its part and folder.
  void add(const NamedArchive& archive);
  // After the last: names in order. A data error where two files have one.
  void finish();

  std::string where(const std::string& name) const override;
  std::string layout(const std::string& name) const override;
  void check_class_folders() const override;
  void read(const std::string& name, std::string& to) const override;
  int64_t bytes_of(const std::string& name) const override { return members_.at(name).bytes; }

 protected:
  std::vector<size_t> quick_order() const override;

 private:
  // Of many, not all stay open: processes may have a thousand files.
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

// The archives of ImageNet's 1000 classes as image-net.org gives them, in one folder: ILSVRC2012_img_train.tar, of a
// tar for each class; ILSVRC2012_img_val.tar; and ILSVRC2012_devkit_t12.tar.gz, which says the classes of the latter.
// Its files are train/CLASS/IMAGE and val/CLASS/IMAGE.
bool is_imagenet(const std::string& folder);
std::unique_ptr<ImageStore> open_imagenet(const std::string& folder);

}  // namespace neon
