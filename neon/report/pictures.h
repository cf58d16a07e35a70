// Pictures for the page: small images in rows, as cells of one PNG.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "neon/core/tensor.h"

namespace neon {

struct PictureSheet {
  std::string title, note;
  std::string png;
  int64_t count = 0, columns = 0, width = 0, height = 0, gap = 0;  // of cells; the gap surrounds them, too
  std::vector<std::vector<std::string>> captions;                  // lines below each picture; empty: no captions
};

// Pictures (N,H,W,C) u8 of 1 or 3 channels. Larger ones than `side` are brought to less, each pixel the mean of a
// square.
PictureSheet picture_sheet(const Tensor& pictures, int64_t side);

// The first `most` cells of H x W pixels of a sheet that write_sheet() wrote: (N,H,W,3) u8, without the empty ones at
// its end. A data error where the image is no such sheet.
Tensor cells_of_sheet(std::string_view png, int64_t height, int64_t width, int64_t most, const std::string& path);

// Filters W (K,R,S,C) as pictures (N,R,S,1 or 3), 0 in the middle between black and white, and the largest number of
// each filter, by size, at an end. Filters of 3 channels have colours; of others each channel is a picture.
Tensor filter_pictures(const Tensor& w);

}  // namespace neon
