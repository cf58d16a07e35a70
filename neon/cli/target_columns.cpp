#include "neon/cli/target_columns.h"

#include <algorithm>
#include <numeric>

#include "neon/train/csv_text.h"

namespace neon {

namespace {

constexpr double kPresent = 0.5;  // the least output of a label that is predicted

}  // namespace

std::string output_text(const Tensor& y, double value) {
  return y.dtype() == DType::f64 ? number(value) : number(float(value));
}

std::string TargetColumns::name(int64_t k) const {
  return k < int64_t(target_.names.size()) ? target_.names[size_t(k)] : std::to_string(k);
}

std::vector<int64_t> TargetColumns::best(const Tensor& y, int64_t at) const {
  std::vector<int64_t> out(static_cast<size_t>(target_.width));
  std::iota(out.begin(), out.end(), 0);
  std::ranges::stable_sort(out, [&](int64_t a, int64_t b) { return output(y, at, a) > output(y, at, b); });
  out.resize(size_t(top_));
  return out;
}

std::vector<std::string> TargetColumns::labels(const Tensor& y, int64_t at) const {
  std::vector<std::string> out;
  for (int64_t k = 0; k < target_.width; ++k)
    if (output(y, at, k) >= kPresent) out.push_back(name(k));
  return out;
}

std::string TargetColumns::head() const {
  const std::string& own = target_.name;
  std::string out;
  const auto add = [&](const std::string& column) { out += "," + csv_cell(column); };
  if (target_.kind == TargetKind::classes && top_ > 1) {
    for (int64_t k = 1; k <= top_; ++k) add(text(own, ".class", k)), add(text(own, ".output", k));
  } else if (target_.kind == TargetKind::classes) {
    add(own), add(own + ".output");
  } else if (target_.kind == TargetKind::labels) {
    add(own);
    for (int64_t k = 0; k < target_.width; ++k) add(text(own, ".", name(k)));
  } else if (target_.width == 1) {
    add(own);
  } else {
    for (int64_t k = 0; k < target_.width; ++k) add(text(own, ".", k));
  }
  return out;
}

std::string TargetColumns::cells(const Tensor& y, int64_t at) const {
  std::string out;
  const auto add = [&](int64_t k) { out += "," + output_text(y, output(y, at, k)); };
  if (target_.kind == TargetKind::classes) {
    for (const int64_t k : best(y, at)) out += "," + csv_cell(name(k)), add(k);
    return out;
  }
  if (target_.kind == TargetKind::labels) out += "," + csv_cell(join(labels(y, at), ";"));
  for (int64_t k = 0; k < target_.width; ++k) add(k);
  return out;
}

void TargetColumns::add_to(nlohmann::ordered_json& line, const Tensor& y, int64_t at) const {
  nlohmann::ordered_json own;
  if (target_.kind == TargetKind::classes) {
    for (const int64_t k : best(y, at)) own["top"].push_back({{"class", name(k)}, {"output", output(y, at, k)}});
  } else {
    if (target_.kind == TargetKind::labels) own["labels"] = labels(y, at);
    for (int64_t k = 0; k < target_.width; ++k) own["outputs"].push_back(output(y, at, k));
  }
  line[target_.name] = std::move(own);
}

}  // namespace neon
