#include "datasets/array_sequences.h"

#include <cmath>

#include "datasets/dataset.h"

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

Tensor inputs_like(const SampleMeaning& meaning, const Tensor& raw, const std::string& source) {
  return meaning.ragged && meaning.tokens == 0 ? sequence_array(raw, source) : input_array(raw, source);
}

}  // namespace neon
