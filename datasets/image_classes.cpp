#include "datasets/image_classes.h"

#include <algorithm>
#include <set>

namespace neon {

namespace {

using Path = std::vector<std::string>;  // folders, and the file's name

Path parts_of(const std::string& name) {
  Path out;
  for (size_t first = 0; first <= name.size();) {
    const size_t slash = std::min(name.find('/', first), name.size());
    out.push_back(name.substr(first, slash - first));
    first = slash + 1;
  }
  return out;
}

// -1: a class's name.
int part_named(const std::string& folder) {
  if (folder == "train" || folder == "training") return LabelledImage::train;
  if (folder == "test" || folder == "testing") return LabelledImage::test;
  if (folder == "val" || folder == "valid" || folder == "validation") return LabelledImage::validation;
  return -1;
}

class Arranger {
 public:
  Arranger(const ImageStore& store, const DataContext& context) : store_(store), context_(context) {}

  Arrangement run() {
    collect();
    skip_common_folders();
    split_ = std::ranges::all_of(paths_, [&](const Path& path) { return part_named(path[first_]) >= 0; });
    find_classes();
    Arrangement out;
    out.classes = {classes_.begin(), classes_.end()};
    for (size_t i = 0; i < paths_.size(); ++i) {
      const auto found = std::ranges::find(out.classes, class_of(i));
      if (found == out.classes.end())
        fail(ErrorKind::data, store_.where(names_[i]), ": there is no training image of class ", in_quotes(class_of(i)),
             did_you_mean(class_of(i), out.classes));
      out.images.push_back({names_[i], int32_t(found - out.classes.begin()), part_of(i)});
    }
    // Images that are only kept for validation are what there is to test with.
    if (std::ranges::count(out.images, LabelledImage::test, &LabelledImage::part) == 0)
      for (LabelledImage& image : out.images)
        if (image.part == LabelledImage::validation) image.part = LabelledImage::test;
    std::ranges::stable_sort(out.images, {}, &LabelledImage::part);
    return out;
  }

 private:
  void collect() {
    int64_t others = 0;
    std::string first_other;
    for (const std::string& name : store_.names()) {
      Path path = parts_of(name);
      if (!is_image_name(name) || path.back().starts_with('.')) {
        if (others++ == 0) first_other = name;
        continue;
      }
      names_.push_back(name);
      paths_.push_back(std::move(path));
    }
    if (names_.empty())
      fail(ErrorKind::data, store_.path(), ": holds no .jpg, .jpeg or .png, but ", others, " other files, such as ",
           in_quotes(first_other));
    if (others > 0)
      context_.warn(text(store_.path(), ": ", others,
                         " files that are no images are left out; the first: ", in_quotes(first_other)));
  }

  // Folders that all images lie in, and that say nothing: those before train, test, or the class.
  void skip_common_folders() {
    while (true) {
      const std::string& folder = paths_.front()[first_];
      const bool common = std::ranges::all_of(
          paths_, [&](const Path& path) { return path.size() > first_ + 2 && path[first_] == folder; });
      if (!common || part_named(folder) >= 0) return;
      ++first_;
    }
  }

  const std::string& class_of(size_t i) const { return paths_[i][first_ + size_t(split_)]; }
  LabelledImage::Part part_of(size_t i) const {
    return split_ ? LabelledImage::Part(part_named(paths_[i][first_])) : LabelledImage::train;
  }

  void find_classes() {
    for (size_t i = 0; i < paths_.size(); ++i) {
      if (paths_[i].size() < first_ + size_t(split_) + 2)
        fail(ErrorKind::data, store_.where(names_[i]), ": lies in no class's folder; expected ",
             split_ ? "train/CLASS/IMAGE" : "CLASS/IMAGE", " (ImageList reads a list of images and classes)");
      if (part_of(i) == LabelledImage::train) classes_.insert(class_of(i));
    }
    if (classes_.size() < 2)
      fail(ErrorKind::data, store_.path(), ": has training images of ", classes_.size(),
           " class(es), at least two are needed: train/CLASS/IMAGE or CLASS/IMAGE");
  }

  const ImageStore& store_;
  const DataContext& context_;
  std::vector<std::string> names_;
  std::vector<Path> paths_;
  size_t first_ = 0;    // of a path's parts, the first that says something
  bool split_ = false;  // into train, test, validation
  std::set<std::string> classes_;
};

}  // namespace

Arrangement arrange_images(const ImageStore& store, const DataContext& context) {
  return Arranger(store, context).run();
}

}  // namespace neon
