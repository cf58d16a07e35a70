// ImageFolder: images whose folder is their class, or a file beside them, in a folder or in tar archives of it.
#include "datasets/image_classes.h"

namespace neon {

namespace {

struct FolderParams : ImageParams {
  std::string path;
  double test = 0;
  static void describe(auto&& p) {
    p("path", &FolderParams::path,
      "Folder, or archive (.tar, .tar.gz, .tgz), of train/CLASS/IMAGE and test/CLASS/IMAGE, or of CLASS/IMAGE; or, as "
      "WebDataset's, of KEY.jpg and KEY.cls, the number of its class. Several archives .tar are a folder of them, or "
      "named together: \"shards-{000..009}.tar\", \"*-train-*.tar\"; train, test or val in names and folders splits "
      "them.",
      Required{}, Alias{"image_dir"});
    p("test", &FolderParams::test,
      "Share of the images that is kept to test with, drawn by the seed, where there is no "
      "folder test.",
      half_open(0, 1));
    ImageParams::describe(p);
  }
};

class ImageFolder : public Parametrized<Dataset, FolderParams> {
 public:
  explicit ImageFolder(FolderParams given) : Parametrized(std::move(given)) { check_image_params(params); }

  Data load(const DataContext& context) const override {
    return finish(load_image_set(*images(context), context), context);
  }

  DataCheck check(const DataContext& context) const override {
    DataCheck missing;
    const std::string path = find_image_store(params.path, context, missing.missing);
    return path.empty() ? missing : finish(check_image_set(read(path, context), context));
  }

  std::shared_ptr<ImageSet> images(const DataContext& context) const override {
    std::string looked_for;
    const std::string path = find_image_store(params.path, context, looked_for);
    if (path.empty()) fail(ErrorKind::data, params.path, ": no such folder or archive; looked for ", looked_for);
    return std::make_shared<ImageSet>(read(path, context));
  }

 private:
  ImageSet read(const std::string& path, const DataContext& context) const {
    ImageSet out;
    out.source = path;
    out.params = params;
    out.memory_share = common.memory_share;
    out.store = open_image_store(path);
    Arrangement arranged = arrange_images(*out.store, least_classes(), context);
    out.images = std::move(arranged.images);
    out.class_names = std::move(arranged.classes);
    out.classes = int64_t(out.class_names.size());
    draw_test_images(out, params.test, context);
    return out;
  }
};

NEON_REGISTER(Dataset, ImageFolder,
              "Images (JPEG, PNG) of a folder or tar archives, whose folders, or files beside them, say the classes.");

}  // namespace

}  // namespace neon
