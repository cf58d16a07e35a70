#include "neon/spec/old/old_squares.h"

#include <algorithm>
#include <cmath>

#include "neon/core/params.h"

namespace neon {

namespace {

constexpr std::string_view kLocalLayers[] = {
    "Conv", "Local", "Pooling", "CrossMapPooling", "CrossMapResponseNorm", "LocalContrastNorm"};

int64_t elements(const OldSizes& sizes) {
  int64_t out = sizes.empty() ? 0 : 1;
  for (int64_t each : sizes) out *= each;
  return out;
}

std::optional<int64_t> side_of_square(int64_t units) {
  const int64_t side = std::llround(std::sqrt(double(std::max<int64_t>(units, 0))));
  return side * side == units ? std::optional(side) : std::nullopt;
}

// 0.9 left out what exceeds the square; the check of shapes then tells the user.
OldSizes add_square(OldTranslation& t, int64_t units, const Location& where, Setting& layers) {
  const auto side = side_of_square(units);
  if (!side) return {};
  Setting shape = Setting::list({}, where);
  for (int64_t extent : {int64_t(1), *side, *side}) shape.items.push_back(Setting::scalar(text(extent), where));
  layers.items.push_back(
      Setting::map({{"Reshape", Setting::map({{"reshape", std::move(shape), where}}, where), where}}, where));
  t.remark(where, text("Reshape: the ", units, " units before a layer of images are one square map, as in 0.9"));
  return {1, *side, *side};
}

std::optional<int64_t> number_of(const Setting& layer, const char* key) {
  const Setting* const given = layer.is_scalar() ? nullptr : layer.entries[0].value.find(key);
  int64_t number = 0;
  return given && detail::read_integer(*given, number) ? std::optional(number) : std::nullopt;
}

// floor((in - fshape + 2 padding) / strides) + 1 on each axis.
OldSizes behind_window(OldTranslation& t, const Setting& layer, const OldSizes& before, const Location& where) {
  const Setting* const window = layer.entries[0].value.find("fshape");
  if (before.size() != 3 || !window) return {};
  const int64_t stride = number_of(layer, "strides").value_or(1), pad = number_of(layer, "padding").value_or(0);
  OldSizes out = {before[0]};
  for (size_t axis : {0, 1}) {
    int64_t size = 0;
    const Setting* const extent = window->is_list() && window->items.size() > axis ? &window->items[axis] : window;
    if (!detail::read_integer(*extent, size) || stride < 1) return {};
    const int64_t there = before[axis + 1] + 2 * pad;
    if (there < size) {
      t.problem(where, text("fshape: a window of ", size, " is larger than its input of ", there));
      return {};
    }
    out.push_back((there - size) / stride + 1);
  }
  return out;
}

void give_maps(OldTranslation& t, Setting& layer, const OldSizes& before, const Location& where) {
  Setting& params = layer.entries[0].value;
  if (params.find("nofm")) return;
  if (before.size() != 3) return t.problem(where, "layers.ConvLayer needs 'nofm' here");
  params.entries.push_back({"nofm", Setting::scalar(text(before[0]), where), where});
  t.remark(where, text("nofm: ", before[0], ", the maps of the input, as in 0.9"));
}

OldSizes with_maps(OldSizes sizes, std::optional<int64_t> maps) {
  if (sizes.size() != 3 || !maps) return {};
  sizes[0] = *maps;
  return sizes;
}

OldSizes behind_list(OldTranslation& t, Setting& list, OldSizes sizes, const Location& where) {
  Setting out = Setting::list({}, list.where);
  for (Setting& layer : list.items) sizes = add_behind(t, std::move(layer), sizes, where, out);
  list = std::move(out);
  return sizes;
}

// The units behind branches side by side, their sum.
OldSizes behind_branches(OldTranslation& t, Setting& branches, const OldSizes& before, const Location& where) {
  int64_t sum = 0;
  bool known = true;
  for (Setting& branch : branches.items) {
    const OldSizes each = behind_list(t, branch, before, where);
    known = known && !each.empty();
    sum += elements(each);
  }
  return known ? OldSizes{sum} : OldSizes{};
}

OldSizes behind_layer(OldTranslation& t, Setting& layer, const OldSizes& before, const Location& where) {
  const std::string_view name = class_of(layer);
  if (name == "Dropout" || name == "Activation" || name.starts_with("CrossMapResponse") ||
      name.starts_with("LocalContrast"))
    return before;
  if (layer.is_scalar()) return {};
  if (name == "BatchNorm") return before;
  if (name == "Maxout") {
    int64_t pieces = 0;
    const bool given = detail::read_integer(layer.entries[0].value, pieces) && pieces > 0 && before.size() == 3;
    return given ? with_maps(before, before[0] / pieces) : OldSizes{};
  }
  if (name == "Pooling") return behind_window(t, layer, before, where);
  if (name == "Conv" || name == "Local")
    return with_maps(behind_window(t, layer, before, where), number_of(layer, "nofm"));
  if (name == "CrossMapPooling") return with_maps(before, number_of(layer, "nofm"));
  const auto units = number_of(layer, name == "Slice" ? "end_idx" : "nout");
  if (name == "Slice" && before.size() == 3) return with_maps(before, units);
  if (name == "Affine" || name == "RBM" || (name == "Slice" && !before.empty()))
    return units ? OldSizes{*units} : OldSizes{};
  Setting* const inner = layer.entries[0].value.find("layers");
  if (inner && name == "Sequential") return behind_list(t, *inner, before, where);
  if (inner && name == "MergeBroadcast") return behind_branches(t, *inner, before, where);
  return {};
}

}  // namespace

bool is_old_local(const Setting& layer) { return std::ranges::count(kLocalLayers, class_of(layer)) > 0; }

OldSizes old_data_sizes(const OldTranslation& t) {
  if (t.data_shape.size() != 1 || t.flat_data) return t.data_shape;
  const auto side = side_of_square(t.data_shape[0]);  // samples that are images arrive as images
  return side ? OldSizes{1, *side, *side} : OldSizes{};
}

OldSizes add_behind(OldTranslation& t, Setting layer, const OldSizes& before, const Location& where, Setting& layers) {
  const bool local = is_old_local(layer);
  OldSizes sizes = local && before.size() == 1 ? add_square(t, before[0], where, layers) : before;
  if (const auto name = class_of(layer); name == "Conv" || name == "Local") give_maps(t, layer, sizes, where);
  sizes = behind_layer(t, layer, sizes, where);
  layers.items.push_back(std::move(layer));
  return sizes;
}

}  // namespace neon
