#include "neon/cli/outcome_sheet.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "neon/cli/sample_sheet.h"

namespace neon {

namespace {

using Colour = std::array<uint8_t, 3>;

// The colours of Pascal VOC: the bits of a class are dealt to red, green and blue, the lowest first and as the highest
// bits. Class 0 is black. A pixel without a class is a pale yellow.
Colour colour_of(int64_t label) {
  if (label < 0) return {224, 224, 192};
  Colour out = {};
  for (int bit = 0; bit < 24; ++bit) out[size_t(bit % 3)] |= uint8_t((label >> bit & 1) << (7 - bit / 3));
  return out;
}

// Numbers (n,H,W,C) as bytes (n,H,W,3).
Tensor as_colours(const Tensor& x, const SheetRange& range) {
  const int64_t channels = x.shape()[3], pixels = x.elements() / channels;
  Tensor out(DType::u8, {x.shape()[0], x.shape()[1], x.shape()[2], 3});
  const auto to = out.as<uint8_t>();
  for (int64_t i = 0; i < 3 * pixels; ++i) {
    const double value = 255 * (x.at(i / 3 * channels + i % 3 % channels) - range.low) / (range.high - range.low);
    to[size_t(i)] = uint8_t(std::lround(std::clamp(std::isnan(value) ? 0 : value, 0.0, 255.0)));
  }
  return out;
}

// Classes (n,H,W) as colours (n,H,W,3).
Tensor class_colours(const Tensor& labels) {
  Tensor out(DType::u8, labels.shape().concat({3}));
  const auto to = out.as<uint8_t>();
  for (int64_t i = 0; i < labels.elements(); ++i)
    std::ranges::copy(colour_of(int64_t(labels.at(i))), to.begin() + 3 * i);
  return out;
}

// The first n rows of outputs (N,K,H,W) -> the class of each pixel (n,H,W).
Tensor predicted_classes(const Tensor& y, int64_t n, int64_t classes, int64_t height, int64_t width) {
  Tensor out(DType::i32, {n, height, width});
  const auto to = out.as<int32_t>();
  const int64_t pixels = height * width;
  for (int64_t i = 0; i < n * pixels; ++i) {
    const auto value = [&](int64_t k) { return y.at((i / pixels * classes + k) * pixels + i % pixels); };
    int32_t best = 0;
    for (int32_t k = 1; k < classes; ++k)
      if (value(k) > value(best)) best = k;
    to[size_t(i)] = best;
  }
  return out;
}

// Images (n,h,w,3) of n samples side by side, with grey between them.
Tensor side_by_side(const std::vector<Tensor>& panels) {
  int64_t height = 0, width = -kSheetGap;
  for (const Tensor& panel : panels) {
    height = std::max(height, panel.shape()[1]);
    width += panel.shape()[2] + kSheetGap;
  }
  const int64_t n = panels[0].shape()[0];
  Tensor out(DType::u8, {n, height, width, 3});
  const auto to = out.as<uint8_t>();
  std::ranges::fill(to, kSheetGrey);
  int64_t left = 0;
  for (const Tensor& panel : panels) {
    const int64_t rows = panel.shape()[1], bytes = panel.shape()[2] * 3;
    for (int64_t i = 0; i < n * rows; ++i)
      std::memcpy(&to[size_t(((i / rows * height + i % rows) * width + left) * 3)],
                  panel.as<uint8_t>().data() + i * bytes, size_t(bytes));
    left += panel.shape()[2] + kSheetGap;
  }
  return out;
}

// Numbers (N,C,H,W) of the first n samples -> (n,H,W,C). Numbers of channel c become value * factors[c] + offsets[c].
Tensor images_of(const Tensor& y, int64_t n, const Shape& image, const std::vector<double>& factors = {},
                 const std::vector<double>& offsets = {}) {
  const int64_t channels = image[0], pixels = image[1] * image[2];
  Tensor out(DType::f32, {n, image[1], image[2], channels});
  const auto to = out.as<float>();
  for (int64_t i = 0; i < n * pixels * channels; ++i) {
    const auto c = size_t(i % channels);
    const double value = y.at((i / (channels * pixels) * channels + int64_t(c)) * pixels + i / channels % pixels);
    to[size_t(i)] = float(factors.empty() ? value : value * factors[c] + offsets[c]);
  }
  return out;
}

// Outputs of a net that reconstructs its samples, in the numbers of the samples in memory.
Tensor reconstructions(const Tensor& y, int64_t n, const SampleMeaning& meaning) {
  std::vector<double> factors, offsets;
  for (size_t c = 0; c < size_t(meaning.sample[0]); ++c) {
    const double deviation = meaning.deviations.empty() ? 1 : meaning.deviations[c];
    const double mean = meaning.means.empty() ? 0 : meaning.means[c];
    factors.push_back(deviation / meaning.scale);
    offsets.push_back((mean - meaning.shift) / meaning.scale);
  }
  return images_of(y, n, meaning.sample, factors, offsets);
}

bool are_drawn(const Shape& image) { return image.rank() == 3 && (image[0] == 1 || image[0] == 3); }

bool reconstructs(const SampleMeaning& meaning, int64_t outputs) {
  return meaning.classes == 0 && meaning.targets.empty() && outputs == meaning.sample.elements();
}

// The shape (C,H,W) of targets that are images; empty for others.
Shape image_of_targets(const SampleMeaning& meaning, const Tensor& targets) {
  const Shape& all = targets.shape();
  if (targets.empty() || meaning.classes > 0 || !meaning.targets.empty() || all.rank() < 3) return {};
  const Shape image = all.rank() == 3 ? Shape{1}.concat(all.slice(1, 3)) : all.slice(1, all.rank());
  return are_drawn(image) ? image : Shape();
}

bool have_pixels(const SampleMeaning& meaning) { return meaning.classes > 0 && meaning.label_of == LabelOf::pixel; }

}  // namespace

OutcomeSheets::OutcomeSheets(const CommandLine& line, const OpenedRun& opened, const std::string& path,
                             const RunOptions& options, const Data& data)
    : line_(line),
      opened_(opened),
      path_(path),
      data_(data),
      stored_(stored_data(opened.run, opened.spec)),
      reconstructs_(opened.experiment->last_phase().layout(layout_of(data)).target_is_input) {
  if (!line_.run_options.find("backend") && !options.backend.empty())
    line_.run_options.entries.push_back({"backend", Setting::scalar(options.backend), {}});
}

std::string OutcomeSheets::beside() const {
  if (!fits_) return "";
  if (reconstructs_) return "its reconstruction";
  const Split& any = data_.test.size() > 0 ? data_.test : data_.train;
  const bool images = (have_pixels(data_) && !any.targets.empty()) || image_of_targets(data_, any.targets).rank() > 0;
  return images ? "its target and the net's output" : "";
}

// The outputs (n, ...) for samples (n, ...) as they lie in memory, in batches of the training: those found room.
Tensor OutcomeSheets::outputs_for(const Tensor& x) {
  if (!predictor_) predictor_.emplace(line_, opened_, stored_, path_);
  const int64_t n = x.shape()[0];
  Tensor out;
  const int64_t most = std::min(Predictor::kMost, opened_.experiment->params.batch_size);
  for (int64_t first = 0; first < n; first += most) {
    const int64_t count = std::min(most, n - first);
    const Tensor y = predictor_->run(x.rows(first, count), "the samples");
    if (out.empty()) out = Tensor(y.dtype(), Shape{n}.concat(y.shape().slice(1, y.shape().rank())));
    std::memcpy(out.rows(first, count).data(), y.data(), y.rows(0, count).bytes());
  }
  return out;
}

Shape OutcomeSheets::write(const Split& split, const std::vector<int64_t>& samples, const std::string& file) {
  const Tensor x = samples_at(split, samples, data_);
  const auto n = int64_t(samples.size());
  const Tensor truth = reconstructs_ || split.targets.empty() ? Tensor() : take_rows(split.targets, samples);
  const Tensor y = beside().empty() ? Tensor() : outputs_for(x);
  const int64_t classes = have_pixels(data_) && !reconstructs_ ? data_.classes : 1;
  fits_ = !y.empty() && y.elements() == classes * (reconstructs_ ? x.elements() : truth.elements());
  if (!fits_) {
    write_sample_sheet(x, data_, file);
    return data_.sample.slice(1, 3);
  }
  const SheetRange range = sheet_range(x, data_);
  std::vector<Tensor> panels = {as_colours(sheet_images(x, data_), range)};
  if (reconstructs_) {
    panels.push_back(as_colours(reconstructions(y, n, data_), range));
  } else if (have_pixels(data_)) {
    panels.push_back(class_colours(truth));
    panels.push_back(class_colours(predicted_classes(y, n, classes, truth.shape()[1], truth.shape()[2])));
  } else {
    const Shape image = image_of_targets(data_, truth);
    const SheetRange of_targets = range_of(truth);
    panels.push_back(as_colours(images_of(truth, n, image), of_targets));
    panels.push_back(as_colours(images_of(y, n, image), of_targets));
  }
  const Tensor all = side_by_side(panels);
  write_sheet(all, SheetRange{0, 255}, file);
  return all.shape().slice(1, 3);
}

bool shows_outputs(const StoredData& stored) {
  return have_pixels(stored) || (stored.classes == 0 && stored.targets.empty());
}

std::string write_predicted_sheet(const Tensor& samples, const Tensor& y, const StoredData& stored,
                                  const std::string& file) {
  const int64_t n = samples.shape()[0], outputs = y.empty() ? 0 : y.elements() / y.shape()[0];
  const int64_t area = stored.sample[1] * stored.sample[2];
  const bool pixels = have_pixels(stored) && outputs == stored.classes * area;
  const Shape image = outputs % area == 0 ? Shape{outputs / area, stored.sample[1], stored.sample[2]} : Shape();
  const bool other =
      shows_outputs(stored) && !pixels && are_drawn(image) && (image != stored.sample || stored.has_target_arrays);
  if (!pixels && !other && !reconstructs(stored, outputs)) {
    write_sample_sheet(samples, stored, file);
    return "";
  }
  const SheetRange range = sheet_range(samples, stored);
  std::vector<Tensor> panels = {as_colours(sheet_images(samples, stored), range)};
  if (pixels)
    panels.push_back(class_colours(predicted_classes(y, n, stored.classes, stored.sample[1], stored.sample[2])));
  else if (other) panels.push_back(as_colours(images_of(y, n, image), range_of(y)));
  else panels.push_back(as_colours(reconstructions(y, n, stored), range));
  write_sheet(side_by_side(panels), SheetRange{0, 255}, file);
  return pixels ? "the classes of its pixels" : "the net's output";
}

}  // namespace neon
