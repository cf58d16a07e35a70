#include "datasets/array_sequences.h"

#include <algorithm>
#include <cmath>

#include "datasets/dataset.h"
#include "datasets/length_buckets.h"

namespace neon {

Tensor sequence_array(const Tensor& raw, const std::string& source) {
  if (raw.shape().rank() != 3)
    fail(ErrorKind::data, source, ": has shape ", raw.shape(), ", expected sequences (n, T, F) of T steps");
  if (!is_floating(raw.dtype())) return input_array(raw, source);
  Tensor out = raw.converted(DType::f32);
  const auto values = out.as<float>();
  const int64_t steps = raw.shape()[1], features = raw.shape()[2];
  for (int64_t i = 0; i < raw.shape()[0]; ++i) {
    bool ended = false;
    for (int64_t t = 0; t < steps; ++t) {
      const auto step = values.subspan(size_t((i * steps + t) * features), size_t(features));
      const auto missing = std::ranges::count_if(step, [](float x) { return std::isnan(x); });
      const bool padding = missing == features && t > 0;
      if ((missing > 0 && !padding) || (ended && !padding) ||
          std::ranges::any_of(step, [](float x) { return std::isinf(x); }))
        fail(ErrorKind::data, source, ": row ", i, ", step ", t, " has ",
             missing > 0 ? "NaN"
             : ended     ? "numbers"
                         : "infinity",
             "; expected finite numbers, and NaN in all numbers of all steps behind a sequence");
      ended = padding;
    }
  }
  return out;
}

Tensor token_rows(const Tensor& raw, int64_t tokens, bool ragged, const std::string& source) {
  Tensor out(DType::i32, raw.shape());
  const int64_t steps = raw.elements() / std::max<int64_t>(raw.shape()[0], 1), least = ragged ? -1 : 0;
  for (int64_t i = 0; i < raw.elements(); ++i) {
    const double value = raw.at(i);
    const int64_t place = i % steps;
    if (!(value >= double(least) && value < double(tokens) && value == std::floor(value)))
      fail(ErrorKind::data, source, ": number ", place, " of sample ", i / steps, " is ", value,
           "; expected tokens, whole numbers from ", least, " to ", tokens - 1);
    if (value < 0 ? place == 0 : place > 0 && out.at(i - 1) < 0)
      fail(ErrorKind::data, source, ": number ", place, " of sample ", i / steps, " is ", value,
           value < 0 ? ": the sample has no token; " : ", and -1 stands before it; ",
           "expected tokens, and -1 behind the last one alone");
    out.set(i, value);
  }
  return out;
}

Tensor label_rows(const Tensor& raw, int64_t classes, const std::string& source) {
  if (raw.shape().rank() != 2)
    fail(ErrorKind::data, source, ": has shape ", raw.shape(),
         ", expected sequences of labels (n, L), with -1 behind each");
  Tensor out(DType::i32, raw.shape());
  const int64_t most = raw.shape()[1];
  for (int64_t i = 0; i < raw.elements(); ++i) {
    const double value = raw.at(i);
    const bool ended = i % most > 0 && out.at(i - 1) < 0;
    if (value != -1 && (ended || !(value >= 0 && value < double(classes)) || value != std::floor(value)))
      fail(ErrorKind::data, source, ": row ", i / most, ", label ", i % most, " is ", value, ": with ", classes,
           " classes labels are whole numbers from 0 to ", classes - 1, ", and -1 behind the last one of a row");
    out.set(i, value);
  }
  return out;
}

Tensor step_labels(const Tensor& raw, const Tensor& inputs, int64_t classes, const std::string& source) {
  const int64_t samples = raw.shape()[0], most = raw.shape()[1];
  Tensor out(DType::i32, {samples, most});
  const std::vector<int32_t> steps = sequence_lengths(inputs);
  for (int64_t i = 0; i < samples; ++i) {
    bool any = false;
    for (int64_t t = 0; t < most; ++t) {
      const double value = raw.at(i * most + t);
      if (value != -1 && (!(value >= 0 && value < double(classes)) || value != std::floor(value)))
        fail(ErrorKind::data, source, ": row ", i, ", label ", t, " is ", value, ": with ", classes,
             " classes labels are whole numbers from 0 to ", classes - 1, ", and -1 for a step without label");
      if (value >= 0 && t >= steps[size_t(i)])
        fail(ErrorKind::data, source, ": row ", i, " has a label for step ", t, ", and its sequence has ",
             steps[size_t(i)], " steps; expected -1 behind them");
      any = any || value >= 0;
      out.set(i * most + t, value);
    }
    if (!any) fail(ErrorKind::data, source, ": row ", i, " has no label; expected one for a step at least");
  }
  return out;
}

Tensor step_values(const Tensor& raw, const Tensor& inputs) {
  Tensor out(is_floating(raw.dtype()) ? raw.dtype() : DType::f32, raw.shape());
  const std::vector<int32_t> steps = sequence_lengths(inputs);
  const int64_t row = raw.elements() / std::max<int64_t>(raw.shape()[0], 1), width = row / raw.shape()[1];
  for (int64_t i = 0; i < raw.elements(); ++i) out.set(i, i % row < steps[size_t(i / row)] * width ? raw.at(i) : 0);
  return out;
}

Tensor with_more_steps(const Tensor& raw, int64_t steps, double fill) {
  const Shape& shape = raw.shape();
  Tensor out(is_floating(raw.dtype()) ? raw.dtype() : DType::i32, shape.with(1, steps));
  const int64_t width = shape.slice(2, shape.rank()).elements(), own = shape[1] * width, row = steps * width;
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t k = 0; k < row; ++k) out.set(i * row + k, k < own ? raw.at(i * own + k) : fill);
  return out;
}

bool have_end(const Tensor& labels, int64_t end) { return std::ranges::count(labels.as<int32_t>(), int32_t(end)) > 0; }

Tensor ended_rows(const Tensor& labels, int64_t end, bool given, const std::string& source) {
  const int64_t samples = labels.shape()[0], most = labels.shape()[1], width = given ? most : most + 1;
  Tensor out(DType::i32, {samples, width});
  std::ranges::fill(out.as<int32_t>(), -1);
  for (int64_t i = 0; i < samples; ++i) {
    const auto row = labels.as<int32_t>().subspan(size_t(i * most), size_t(most));
    const auto to = out.as<int32_t>().subspan(size_t(i * width));
    const auto count = std::ranges::find(row, -1) - row.begin(),
               at = std::ranges::find(row, int32_t(end)) - row.begin();
    const bool ends = given ? count > 0 && at == count - 1 : at == long(most);
    if (!ends)
      fail(ErrorKind::data, source, ": row ", i,
           at == long(most) ? text(" does not end with the class ", end, ", as others do")
                            : text(", label ", at, " is the class ", end, ", which ends others"),
           "; end_class: ", end, " stands behind the labels of all targets, or of none, and nowhere else");
    std::copy_n(row.begin(), count, to.begin());
    if (!given) to[size_t(count)] = int32_t(end);
  }
  return out;
}

Tensor inputs_like(const SampleMeaning& meaning, const Tensor& raw, const std::string& source) {
  return meaning.ragged && meaning.tokens == 0 ? sequence_array(raw, source) : input_array(raw, source);
}

}  // namespace neon
