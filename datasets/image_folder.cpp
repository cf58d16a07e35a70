// ImageFolder: images whose folder is their class, in a folder or in a tar archive of it.
#include <algorithm>
#include <cmath>
#include <set>

#include "datasets/image_samples.h"

namespace neon {

namespace {

struct FolderParams : ImageParams {
  std::string path;
  double test = 0;
  static void describe(auto&& p) {
    p("path", &FolderParams::path,
      "Folder, or archive (.tar, .tar.gz, .tgz), of train/CLASS/IMAGE and test/CLASS/IMAGE, or of CLASS/IMAGE.",
      Required{}, Alias{"image_dir"});
    p("test", &FolderParams::test,
      "Share of the images that is kept to test with, drawn by the seed, where there is no "
      "folder test.",
      half_open(0, 1));
    ImageParams::describe(p);
  }
};

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

// How the images of a store are laid out.
struct Arrangement {
  std::vector<std::string> classes;
  std::vector<LabelledImage> images;
};

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

class ImageFolder : public Parametrized<Dataset, FolderParams> {
 public:
  explicit ImageFolder(FolderParams given) : Parametrized(std::move(given)) { check_image_params(params); }

  Data load(const DataContext& context) const override {
    std::string looked_for;
    const std::string path = find_image_store(params.path, context, looked_for);
    if (path.empty()) fail(ErrorKind::data, params.path, ": no such folder or archive; looked for ", looked_for);
    const auto store = open_image_store(path);
    const Arrangement arranged = arrange(*store, context);
    Data data;
    data.sample = image_sample_shape(params, *store, arranged.images);
    ImageParts parts = load_images(params, *store, arranged.images, data.sample, context);
    data.train = std::move(parts[LabelledImage::train]);
    data.test = std::move(parts[LabelledImage::test]);
    data.validation = std::move(parts[LabelledImage::validation]);
    data.classes = int64_t(arranged.classes.size());
    data.class_names = arranged.classes;
    data.source = path;
    describe_values(data);
    return finish(std::move(data), context);
  }

  DataCheck check(const DataContext& context) const override {
    DataCheck out;
    describe_values(out);
    out.dtype = DType::u8;
    out.source = find_image_store(params.path, context, out.missing);
    if (out.source.empty()) return out;
    const auto store = open_image_store(out.source);
    const Arrangement arranged = arrange(*store, context);
    out.found = true;
    out.sample = image_sample_shape(params, *store, arranged.images);
    out.classes = int64_t(arranged.classes.size());
    const auto counts = count_parts(arranged.images);
    out.train_size = counts[LabelledImage::train];
    out.test_size = counts[LabelledImage::test];
    out.validation_size = counts[LabelledImage::validation];
    return finish(out);
  }

 private:
  Arrangement arrange(const ImageStore& store, const DataContext& context) const {
    Arrangement out = Arranger(store, context).run();
    draw_test_images(out.images, params.test, store.path(), context.seed);
    return out;
  }

  void describe_values(auto& data) const {
    data.channels_last = true;
    data.image_size = params.size;
    if (params.normalize) data.scale = 1.0f / 255.0f;
  }
};

NEON_REGISTER(Dataset, ImageFolder, "Images (JPEG, PNG) of a folder or tar archive, whose folders are the classes.");

}  // namespace

}  // namespace neon
