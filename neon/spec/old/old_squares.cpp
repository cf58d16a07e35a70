#include "neon/spec/old/old_squares.h"

#include <algorithm>
#include <cmath>

#include "neon/core/params.h"

namespace neon {

namespace {

using Units = std::optional<int64_t>;

constexpr std::string_view kLocalLayers[] = {
    "Conv", "Local", "Pooling", "CrossMapPooling", "CrossMapResponseNorm", "LocalContrastNorm"};

// 0.9 left out what exceeds the square; the check of shapes then tells the user.
void add_square(OldTranslation& t, int64_t units, const Location& where, Setting& layers) {
  const int64_t side = std::llround(std::sqrt(double(std::max<int64_t>(units, 0))));
  if (side * side != units) return;
  Setting shape = Setting::list({}, where);
  for (int64_t extent : {int64_t(1), side, side}) shape.items.push_back(Setting::scalar(text(extent), where));
  layers.items.push_back(
      Setting::map({{"Reshape", Setting::map({{"reshape", std::move(shape), where}}, where), where}}, where));
  t.remark(where, text("Reshape: the ", units, " units before a layer of images are one square map, as in 0.9"));
}

Units number_of(const Setting& layer, const char* key) {
  const Setting* const given = layer.entries[0].value.find(key);
  int64_t units = 0;
  return given && detail::read_integer(*given, units) ? Units(units) : std::nullopt;
}

Units behind_list(OldTranslation& t, Setting& list, Units flat, const Location& where) {
  Setting out = Setting::list({}, list.where);
  for (Setting& layer : list.items) flat = add_behind_units(t, std::move(layer), flat, where, out);
  list = std::move(out);
  return flat;
}

// The units behind branches side by side, their sum.
Units behind_branches(OldTranslation& t, Setting& branches, Units flat, const Location& where) {
  Units sum = 0;
  for (Setting& branch : branches.items) {
    const Units each = behind_list(t, branch, flat, where);
    sum = sum && each ? Units(*sum + *each) : std::nullopt;
  }
  return sum;
}

Units behind_layer(OldTranslation& t, Setting& layer, Units flat, const Location& where) {
  const std::string_view name = class_of(layer);
  if (name == "Dropout" || name == "Activation") return flat;
  if (layer.is_scalar()) return {};
  if (name == "Affine") return number_of(layer, "nout");
  if (name == "Slice") return flat ? number_of(layer, "end_idx") : std::nullopt;
  Setting* const inner = layer.entries[0].value.find("layers");
  if (inner && name == "Sequential") return behind_list(t, *inner, flat, where);
  if (inner && name == "MergeBroadcast") return behind_branches(t, *inner, flat, where);
  return {};
}

}  // namespace

bool is_old_local(const Setting& layer) { return std::ranges::count(kLocalLayers, class_of(layer)) > 0; }

Units add_behind_units(OldTranslation& t, Setting layer, Units flat, const Location& where, Setting& layers) {
  if (is_old_local(layer) && flat) add_square(t, *flat, where, layers);
  flat = behind_layer(t, layer, flat, where);
  layers.items.push_back(std::move(layer));
  return flat;
}

}  // namespace neon
