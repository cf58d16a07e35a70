// BoxImages: images, and a table of the objects in them.
#include <omp.h>

#include <algorithm>

#include "datasets/box_samples.h"
#include "datasets/image_samples.h"
#include "datasets/same_file.h"
#include "datasets/test_images.h"
#include "neon/core/box_rows.h"
#include "neon/core/paths.h"
#include "neon/core/threads.h"

namespace neon {

namespace {

struct BoxImagesParams : StreamParams {
  std::string path, test_path, root;
  SampleSize size;
  int64_t channels = 3, most = 0;
  bool normalize = true;
  static void describe(auto&& p) {
    p("path", &BoxImagesParams::path,
      "Table of the boxes to train with: CSV with a header, of columns image, class, x1, y1, x2, y2 in pixels and, if "
      "some boxes are difficult, difficult (0 or 1); or JSON as COCO has it. A line without class and box is an image "
      "without objects.",
      Required{});
    p("test_path", &BoxImagesParams::test_path, "Table of the boxes to test with, in the same form.");
    p("root", &BoxImagesParams::root, "Folder or tar archive with the images. Default: the table's folder.");
    p("size", &BoxImagesParams::size,
      "Height and width of the samples; a lone number is both. neon brings images to this size whatever their shape, "
      "and the boxes with them.",
      closed(1, 8192), Unit{"pixels"}, Required{});
    p("channels", &BoxImagesParams::channels, "Channels: 3 for RGB, 1 for grey.", closed(1, 3));
    p("most", &BoxImagesParams::most, "Most boxes of an image. 0: as many as one has. neon refuses an image with more.",
      closed(0, 4096));
    p("normalize", &BoxImagesParams::normalize, "Scales pixels to 0 to 1 instead of 0 to 255.");
    StreamParams::describe(p);
  }
};

class BoxImages : public Parametrized<Dataset, BoxImagesParams> {
 public:
  explicit BoxImages(BoxImagesParams given) : Parametrized(std::move(given)) {
    if (params.channels == 2) fail(ErrorKind::config, "channels: an image has 1 (grey) or 3 (RGB), not 2");
  }

  Data load(const DataContext& context) const override {
    const Tables tables = read(find_data_file(params.path, context), context);
    Data out;
    out.meaning() = meaning(tables);
    out.source = tables.path;
    const bool streamed = is_streamed(tables, context);
    out.train = load_images(tables, tables.train, streamed);
    if (!tables.test.images.empty()) out.test = load_images(tables, tables.test, streamed);
    if (common.validation > 0 || common.folds > 0) group_copies(tables, out.train, context);
    return finish(std::move(out), context);
  }

  DataCheck check(const DataContext& context) const override {
    DataCheck out;
    const std::string path = find_data_file(params.path, context, out.missing);
    if (path.empty()) return out;
    const Tables tables = read(path, context);
    out.found = true;
    out.source = path;
    out.meaning() = meaning(tables);
    out.target = {tables.most, kBoxNumbers};
    out.train_size = int64_t(tables.train.images.size());
    out.test_size = int64_t(tables.test.images.size());
    out.streamed = is_streamed(tables, context);
    return finish(out);
  }

 private:
  struct Tables {
    std::string path, root;
    std::shared_ptr<ImageStore> store;
    BoxTable train, test;
    int64_t most = 1;
  };

  Tables read(const std::string& path, const DataContext& context) const {
    Tables out;
    out.path = path;
    const size_t slash = path.rfind('/');
    out.root = slash == path.npos ? "." : path.substr(0, slash);
    std::string looked_for;
    if (params.root.empty()) context.check_may_read(out.root, params.path);
    else out.root = find_image_store(params.root, context, looked_for);
    if (out.root.empty()) fail(ErrorKind::data, params.root, ": no such folder or archive; looked for ", looked_for);
    out.store = open_image_store(out.root);
    out.train = read_boxes(path);
    if (!params.test_path.empty()) {
      const std::string test = find_data_file(params.test_path, context);
      warn_of_same_file(path, test, "test_path", context);
      out.test = read_boxes(test, out.train.classes);
    }
    for (const BoxTable* table : {&out.train, &out.test})
      for (const ListedImage& image : table->images) {
        if (const auto count = int64_t(image.boxes.size()); params.most > 0 && count > params.most)
          fail(ErrorKind::config, "most: ", params.most, ", and ", in_quotes(image.file), " has ", count, " boxes");
        out.most = std::max({out.most, params.most, int64_t(image.boxes.size())});
      }
    return out;
  }

  bool is_streamed(const Tables& tables, const DataContext& context) const {
    const double pixels = double(params.size.height * params.size.width * params.channels);
    const double each = pixels + double(tables.most * kBoxNumbers) * sizeof(float);
    const size_t images = tables.train.images.size() + tables.test.images.size();
    return neon::is_streamed(params, double(images) * each, common.memory_share,
                             {tables.store->only_in_order(), "unpack it"}, context);
  }

  SampleMeaning meaning(const Tables& tables) const {
    SampleMeaning out;
    out.sample = {params.channels, params.size.height, params.size.width};
    out.channels_last = true;
    out.image_size = params.size;
    out.dtype = DType::u8;
    if (params.normalize) out.scale_bytes();
    out.classes = int64_t(tables.train.classes.size());
    out.class_names = tables.train.classes;
    out.label_of = LabelOf::box;
    return out;
  }

  // Files of the same bytes stay together where samples are drawn.
  static void group_copies(const Tables& tables, Split& train, const DataContext& context) {
    if (context.rules < kRulesOfTargetClasses) return;
    ImageSet set;
    set.store = tables.store;
    for (const ListedImage& image : tables.train.images) set.images.push_back({image.file});
    train.groups = same_bytes(set);
  }

  Split load_images(const Tables& tables, const BoxTable& table, bool streamed) const {
    const auto n = int64_t(table.images.size());
    const auto samples =
        std::make_shared<BoxSamples>(BoxForm{params.size, params.channels, tables.most}, tables.store, table.images);
    Split out;
    if (streamed) {
      out.rows = samples;
    } else {
      check_room_to_hold(double(n) * double(samples->bytes()), tables.path);
      out.inputs = Tensor(DType::u8, {n, params.size.height, params.size.width, params.channels});
      out.targets = Tensor(DType::f32, Shape{n}.concat(samples->target()));
      read_all(*samples, out);
    }
    out.identity = samples->identity();
    return out;
  }

  static void read_all(const BoxSamples& samples, Split& to) {
    need_image_library();
    std::vector<std::string> troubles(static_cast<size_t>(samples.size()));
    const int threads = available_threads();
    std::vector<ReadScratch> scratches(static_cast<size_t>(threads));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 8)
    for (int64_t i = 0; i < samples.size(); ++i) try {
        samples.read_row(i, std::as_writable_bytes(to.inputs.rows(i, 1).as<uint8_t>()),
                         std::as_writable_bytes(to.targets.rows(i, 1).as<float>()),
                         scratches[size_t(omp_get_thread_num())]);
      } catch (const std::exception& error) {
        troubles[size_t(i)] = error.what();
      }
    for (const std::string& trouble : troubles)
      if (!trouble.empty()) fail(ErrorKind::data, trouble);
  }
};
NEON_REGISTER(Dataset, BoxImages,
              "Images with boxes of the objects in them, from a CSV table or a JSON file as COCO has "
              "it, for MultiBox and MBox.");

}  // namespace

}  // namespace neon
