// A sheet of images as a PNG, marked as a preview of this program's, so that another one may replace it.
#pragma once
#include <string>

#include "datasets/dataset.h"

namespace neon {

// Throws a data error if a file of that name is there that is no preview: it may be an image of the data set.
void check_preview_place(const std::string& path);

// Pixels between the images of a sheet and around them, and their colour.
inline constexpr int64_t kSheetGap = 2;
inline constexpr uint8_t kSheetGrey = 128;

// The PNG with a mark that it is this program's.
std::string with_preview_mark(std::string png);

// Numbers that are drawn black and white.
struct SheetRange {
  double low = 0, high = 1;
};
// The range of samples that were bytes; that of all numbers of x.
SheetRange range_of_bytes(const SampleMeaning& meaning);
SheetRange range_of(const Tensor& x);

// x (N,H,W,C) of 1 or 3 channels, side by side.
void write_sheet(const Tensor& x, const SheetRange& range, const std::string& path);

}  // namespace neon
