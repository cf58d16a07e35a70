// ImageFolder: images whose folder is their class, or a file beside them, in a folder or in tar archives of it.
#include "datasets/image_classes.h"
#include "datasets/macrobatches.h"
#include "datasets/test_images.h"

namespace neon {

namespace {

struct FolderParams : ImageParams {
  std::string path, test = "auto";
  Macrobatches macrobatches;
  static void describe(auto&& p) {
    p("path", &FolderParams::path,
      "Folder or archive (.tar, .tar.gz, .tgz) with train/CLASS/IMAGE and test/CLASS/IMAGE, or with CLASS/IMAGE. Or "
      "it has WebDataset's KEY.jpg and KEY.cls, the number of the class. For several archives: their folder, or a "
      "pattern as \"shards-{000..009}.tar\" or \"*-train-*.tar\". The split comes from train, test or val in the "
      "names.",
      Required{}, Alias{"image_dir"});
    p("test", &FolderParams::test,
      "Images to test with where no folder is named test: auto (a fifth, the same with every seed), none, or a share "
      "as 0.1, drawn by the seed. They come from each class in proportion; files of the same bytes stay together.");
    ImageParams::describe(p);
    p("macrobatches", &FolderParams::macrobatches,
      "Macrobatches of neon 0.9 to use, where the folder has such: {ntrain: NUMBER, train_start: NUMBER, nval: NUMBER, "
      "val_start: NUMBER}. Default: as dataset_cache.pkl says.");
  }
};

class ImageFolder : public Parametrized<Dataset, FolderParams> {
 public:
  explicit ImageFolder(FolderParams given) : Parametrized(std::move(given)), test_(read_test_share(params.test)) {
    check_image_params(params);
  }

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
    Macrobatches chosen = params.macrobatches;
    chosen.counts_of_cache = context.rules >= kRulesOfMacrobatches;
    out.store = open_image_store(path, chosen);
    Arrangement arranged = arrange_images(*out.store, context.some_classes ? 1 : least_classes(), context);
    out.images = std::move(arranged.images);
    out.class_names = std::move(arranged.classes);
    out.classes = int64_t(out.class_names.size());
    draw_test_images(out, test_, common, context);
    choose_size(out, context);
    return out;
  }

  const TestShare test_;
};

NEON_REGISTER(Dataset, ImageFolder,
              "Images (JPEG, PNG, BMP, GIF, TIFF, WebP) of a folder or of tar archives; the class is the name of an "
              "image's folder, or in a "
              "file beside it.");

}  // namespace

}  // namespace neon
