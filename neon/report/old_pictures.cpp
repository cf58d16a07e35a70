#include "neon/report/old_pictures.h"

#include <algorithm>
#include <cstring>

namespace neon {

namespace {

constexpr std::string_view kMaps = "deconv/max_act/", kVis = "/vis";

const StoredPictures* find_pictures(const MetricsContents& contents, const std::string& path) {
  const auto found = std::ranges::find(contents.pictures, path, &StoredPictures::path);
  return found == contents.pictures.end() ? nullptr : &*found;
}

// Pixels (H,W,3) of a picture that lies in `from` at `first`, its numbers `stride` apart; grey ones get three channels.
void copy_picture(const StoredPictures& from, size_t first, size_t stride, size_t channels, std::span<uint8_t> to) {
  for (size_t i = 0; i < to.size(); ++i) {
    const size_t at = channels == 3 ? i : i / 3;
    to[i] = uint8_t(from.bytes[first + at * stride]);
  }
}

// The image with the place in its batch, of /deconv/img/batch_N (H,W,C,n), where an attribute has its place among n.
void copy_image(const MetricsContents& contents, int64_t batch, int64_t image, std::span<uint8_t> to) {
  const std::string group = text("deconv/img/batch_", batch);
  const StoredPictures* const stored = find_pictures(contents, group + "/HWC_uint8");
  const AttributeValue* const value = contents.find(group, std::to_string(image));
  const auto* const place = value ? std::get_if<int64_t>(value) : nullptr;
  if (!stored || !place) return;
  const auto& [height, width, channels, count] = stored->dims;
  if (*place < 0 || uint64_t(*place) >= count || (channels != 1 && channels != 3) || height * width * 3 != to.size())
    return;
  copy_picture(*stored, size_t(*place), count, channels, to);
}

}  // namespace

std::vector<PictureSheet> old_guided_sheets(const MetricsContents& contents, const PictureLimits& limits) {
  std::vector<PictureSheet> out;
  for (const StoredPictures& maps : contents.pictures) {
    if (!maps.path.starts_with(kMaps) || !maps.path.ends_with(kVis)) continue;
    const auto& [found, height, width, channels] = maps.dims;
    if ((channels != 1 && channels != 3) || found == 0 || height == 0 || width == 0) continue;
    const std::string layer = maps.path.substr(kMaps.size(), maps.path.size() - kMaps.size() - kVis.size());
    const StoredSeries* const places = contents.find(text(kMaps, layer, "/batch_img"));
    const size_t count = std::min(size_t(found), size_t(limits.most)), pixels = height * width * 3;
    Tensor pairs(DType::u8, {int64_t(2 * count), int64_t(height), int64_t(width), 3});
    for (size_t k = 0; k < count; ++k) {
      const auto of = pairs.as<uint8_t>().subspan(2 * k * pixels, 2 * pixels);
      copy_picture(maps, k * height * width * channels, 1, channels, of.first(pixels));
      std::ranges::fill(of.last(pixels), uint8_t(0));
      if (places && places->spec.width == 2 && places->spec.length > int64_t(k))
        copy_image(contents, int64_t(places->at(int64_t(k), 0)), int64_t(places->at(int64_t(k), 1)), of.last(pixels));
    }
    out.push_back(guided_sheet("layer " + layer, pairs, limits));
  }
  return out;
}

}  // namespace neon
