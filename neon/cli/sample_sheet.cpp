#include "neon/cli/sample_sheet.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace neon {

namespace {

// (n,C,H,W) -> (n,H,W,C)
Tensor with_channels_last(const Tensor& x) {
  const int64_t n = x.shape()[0], channels = x.shape()[1], height = x.shape()[2], width = x.shape()[3];
  Tensor out(DType::f32, {n, height, width, channels});
  const auto to = out.as<float>();
  size_t at = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t pixel = 0; pixel < height * width; ++pixel)
      for (int64_t c = 0; c < channels; ++c) to[at++] = float(x.at((i * channels + c) * height * width + pixel));
  return out;
}

}  // namespace

void check_sheet_options(const CommandLine& line) {
  if (line.of_verb.count && line.of_verb.sheet.empty())
    fail(ErrorKind::config, "option --count: it says how many images --sheet PNG shows; add --sheet, or leave it out");
}

void check_sheet(const std::string& path, const SampleMeaning& meaning, bool overwrite) {
  if (!meaning.is_image() || (meaning.sample[0] != 1 && meaning.sample[0] != 3))
    fail(ErrorKind::config, "option --sheet shows images (1, H, W) and (3, H, W), the samples are ", meaning.sample,
         "; leave it out");
  if (!path.ends_with(".png"))
    fail(ErrorKind::config, in_quotes(path), ": the sheet is a PNG file; give a name that ends with .png");
  if (!overwrite) check_preview_place(path);
}

Tensor sheet_images(const Tensor& samples, const SampleMeaning& meaning) {
  const Tensor shaped = samples.reshaped(Shape{samples.shape()[0]}.concat(meaning.stored_sample()));
  return meaning.channels_last ? shaped : with_channels_last(shaped);
}

SheetRange sheet_range(const Tensor& samples, const SampleMeaning& meaning) {
  const bool bytes = samples.dtype() == DType::u8 || meaning.dtype == DType::u8;  // as numbers, too
  return bytes ? SheetRange{0, 255} : range_of(samples);
}

void write_sample_sheet(const Tensor& samples, const SampleMeaning& meaning, const std::string& path) {
  write_sheet(sheet_images(samples, meaning), sheet_range(samples, meaning), path);
}

Tensor samples_at(const Split& split, const std::vector<int64_t>& numbers, const SampleMeaning& meaning) {
  const RowReader* const rows = split.reader ? split.reader.get() : split.rows.get();
  if (!rows) return take_rows(split.inputs, numbers);
  Tensor out(DType::u8, Shape{int64_t(numbers.size())}.concat(meaning.stored_sample()));
  ReadScratch scratch;
  std::vector<std::byte> target(rows->target_bytes());
  for (size_t k = 0; k < numbers.size(); ++k)
    rows->read_row(numbers[k], std::as_writable_bytes(out.rows(int64_t(k), 1).as<uint8_t>()), target, scratch);
  return out;
}

std::vector<int64_t> worst_samples(const Outcome& outcome, bool of_classes, const Standard& standard, int64_t most) {
  const std::vector<double>& deviations = standard.deviations;
  std::vector<double> badness;
  for (int64_t i = 0; i < outcome.size(); ++i) {
    double sum = 0;
    for (int64_t k = 0; k < outcome.width; ++k) {
      const auto at = size_t(i * outcome.width + k);
      const double deviation = deviations.empty() ? 1 : deviations[size_t(k) % deviations.size()];
      sum += of_classes ? -outcome.y[at] * outcome.t[at] : std::fabs(outcome.y[at] - outcome.t[at]) / deviation;
    }
    badness.push_back(sum);
  }
  return worst_first(badness, most);
}

std::vector<int64_t> worst_first(const std::vector<double>& badness, int64_t most) {
  std::vector<int64_t> order(badness.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return badness[size_t(a)] > badness[size_t(b)]; });
  order.resize(std::min(order.size(), size_t(most)));
  return order;
}

}  // namespace neon
