#include "neon/cli/data_preview.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

#include "datasets/file.h"
#include "datasets/gzip.h"
#include "datasets/png_image.h"
#include "neon/train/batch_feed.h"

namespace neon {

namespace {

constexpr int64_t kUsualImages = 64, kInRow = 8, kGap = 2;

// x (N,H,W,C) of numbers low .. high as rows of images on grey.
Tensor sheet_of(const Tensor& x, double low, double high) {
  const Shape& shape = x.shape();
  const int64_t n = shape[0], height = shape[1], width = shape[2], channels = shape[3];
  const int64_t columns = std::min(n, std::max(kInRow, int64_t(std::ceil(std::sqrt(n))))),
                rows = (n + columns - 1) / columns;
  Tensor out(DType::u8, {rows * (height + kGap) + kGap, columns * (width + kGap) + kGap, channels});
  const auto pixels = out.as<uint8_t>();
  std::ranges::fill(pixels, uint8_t(128));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < height * width * channels; ++k) {
      const int64_t c = k % channels, column = k / channels % width, row = k / channels / width;
      const int64_t y = i / columns * (height + kGap) + kGap + row, left = i % columns * (width + kGap) + kGap + column;
      const double value = 255 * (x.at(i * height * width * channels + k) - low) / (high - low);
      pixels[size_t((y * out.shape()[1] + left) * channels + c)] = uint8_t(std::lround(std::clamp(value, 0.0, 255.0)));
    }
  return out;
}

// The images (count,H,W,C) of the first steps.
Tensor first_images(const Data& data, const StepOptions& step, SampleOrder order, int64_t count) {
  FeedOptions feeding;
  feeding.batch = step.batch;
  feeding.seed = step.seed;
  feeding.order = order;
  feeding.samples = true;
  const auto feed = make_feed(data.train, feeding);
  DataLayout layout = layout_of(data);
  layout.held = feed->rows();
  const Graph graph = batch_graph(layout, step);
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {});
  feed->bind(*program);
  Tensor out;
  for (int64_t number = 0; number * step.batch < count; ++number) {
    feed->next(*program, number);
    program->run(uint64_t(number));
    const Tensor x = program->output("x");
    if (number == 0) out = Tensor(x.dtype(), Shape{count}.concat(x.shape().slice(1, 4)));
    const int64_t first = number * step.batch, rows = std::min(step.batch, count - first);
    std::memcpy(out.rows(first, rows).data(), x.data(), x.rows(0, rows).bytes());
  }
  return out;
}

// A chunk of text says that the image is a preview, so that another one may replace it.
constexpr std::string_view kMark("Software\0neon data preview", 26);
constexpr size_t kEndBytes = 12;  // of the chunk IEND

std::string big_endian(uint32_t number) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += char(number >> shift & 255);
  return out;
}

void add_mark(const std::string& path) {
  std::string content = read_file(path, int64_t(1) << 36);
  const std::string chunk = "tEXt" + std::string(kMark);
  content.insert(content.size() - kEndBytes, big_endian(uint32_t(kMark.size())) + chunk + big_endian(crc32_of(chunk)));
  std::ofstream file(path, std::ios::binary);
  if (!file.write(content.data(), std::streamsize(content.size())).flush())
    fail(ErrorKind::failed, path, ": cannot be written");
}

}  // namespace

void check_preview_place(const std::string& path) {
  if (!file_exists(path)) return;
  const FileSource file(path);
  std::string end(size_t(std::min<int64_t>(file.size(), kEndBytes + kMark.size() + 4)), '\0');
  file.read_at(file.size() - int64_t(end.size()), end.data(), end.size());
  if (!end.starts_with(kMark))
    fail(ErrorKind::data, path, " exists and is no preview; give another name, remove it, or give --overwrite");
}

std::string write_preview(const Experiment& experiment, const Data& data, const RunOptions& options,
                          std::optional<int64_t> count, const std::string& path) {
  if (!data.is_image() || (data.sample[0] != 1 && data.sample[0] != 3))
    fail(ErrorKind::config, "preview shows images (1, H, W) and (3, H, W), the samples are ", data.sample);
  StepOptions step = step_options(options, experiment.params);
  step.seed = uint64_t(options.rng_seed.value_or(experiment.params.rng_seed.value_or(0)));
  step.dtype = DType::f32;
  check_batch(options, step, layout_of(data));
  const int64_t whole = data.train.size() / step.batch * step.batch;  // images of whole batches of an epoch
  if (count.value_or(1) > whole)
    fail(ErrorKind::config, "--count ", *count, ": the whole batches of an epoch have ", whole, " images");
  const int64_t shown = count.value_or(std::min(step.batch, kUsualImages));
  const Tensor x =
      first_images(data, step, experiment.params.shuffle ? SampleOrder::drawn : SampleOrder::as_given, shown);
  double low = data.shift, high = 255.0 * data.scale + data.shift;
  if (data.train.dtype() != DType::u8) {  // from the least to the largest that there is
    low = high = x.at(0);
    for (int64_t i = 0; i < x.elements(); ++i) low = std::min(low, x.at(i)), high = std::max(high, x.at(i));
    if (low == high) high = low + 1;
  }
  write_png(sheet_of(x, low, high), path);
  add_mark(path);
  return text("the first ", shown, " images of training with seed ", step.seed, ", in batches of ", step.batch);
}

}  // namespace neon
