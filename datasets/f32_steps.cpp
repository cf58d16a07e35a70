#include "datasets/f32_steps.h"

#include <algorithm>
#include <cmath>

#include "neon/core/text.h"

namespace neon {

std::string f32_steps_text(double mean, double deviation, bool alike) {
  constexpr float kSteps = 16;  // in a deviation
  const auto size = float(std::abs(mean)), step = std::nextafter(size, INFINITY) - size;
  if (!std::isfinite(step)) return "";  // beyond f32, which readers refuse
  if (alike ? step < 2 : double(step * kSteps) < deviation) return "";
  return text("f32 has numbers around ", float(mean), " only in steps of ", step, alike ? ", and all are one" : "");
}

std::string f32_steps_text(const Tensor& numbers, int64_t k, int64_t columns) {
  constexpr int64_t kMostRows = 4096;  // that are looked at
  const int64_t rows = numbers.elements() / columns, stride = std::max<int64_t>(1, rows / kMostRows) * columns;
  double sum = 0, squares = 0;
  int64_t count = 0;
  const auto for_each = [&](auto&& see) {
    for (int64_t i = k; i < numbers.elements(); i += stride)
      if (const double x = numbers.at(i); std::isfinite(x)) see(x);
  };
  for_each([&](double x) { sum += x, ++count; });
  if (count == 0) return "";
  const double mean = sum / double(count);
  float one = 0;
  bool alike = true, begun = false;
  for_each([&](double x) {
    squares += (x - mean) * (x - mean);
    alike = alike && (!begun || float(x) == one);
    one = float(x), begun = true;
  });
  return f32_steps_text(mean, std::sqrt(squares / double(count)), alike);
}

void warn_of_f32_steps(const Tensor& rows, const std::vector<std::string>& names, const std::string& source,
                       const DataContext& context) {
  const auto columns = int64_t(names.size());
  for (int64_t k = 0; k < columns; ++k)
    if (const std::string found = f32_steps_text(rows, k, columns); !found.empty())
      context.warn(text(source, ": ", names[size_t(k)], ": ", found, "; subtract one of them from all"));
}

void warn_of_f32_steps(const Tensor& raw, bool by_column, const std::string& source, const DataContext& context) {
  if (size_of(raw.dtype()) < 4 || raw.dtype() == DType::f32 || raw.elements() == 0) return;
  const int64_t columns = by_column ? raw.shape()[raw.shape().rank() - 1] : 1;
  for (int64_t k = 0; k < columns; ++k)
    if (const std::string found = f32_steps_text(raw, k, columns); !found.empty())
      return context.warn(text(source, ": ", by_column && columns > 1 ? text("column ", k, ": ") : "", found,
                               "; subtract one of them from all"));
}

}  // namespace neon
