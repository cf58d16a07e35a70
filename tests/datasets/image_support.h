// Images and archives that the tests make.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "datasets/shard_folder.h"
#include "neon/core/tensor.h"
#include "support.h"

namespace neon_test {

// (H,W,channels) u8 of smooth colours, other ones for another `kind`.
neon::Tensor picture(int64_t height, int64_t width, int64_t channels, int kind = 0);
// A PNG of such colours; each number, up to 65535, gives another image.
std::string numbered_png(int number, int64_t side = 6);

// Pixels of a JPEG that share a colour; each has a brightness of its own.
struct ColourBlock {
  int height = 1, width = 1;
};
// A JPEG of image (H,W,C): 1 channel grey, 3 RGB, 4 CMYK.
std::string jpeg_of(const neon::Tensor& image, int quality = 95, bool progressive = false, ColourBlock block = {});
// A PNG of image (H,W,C), with 8 or, as twice the byte, 16 bits.
std::string png_of(const neon::Tensor& image, int bits = 8);

// The same with another width and height in its first frame header.
std::string with_jpeg_size(std::string jpeg, int height, int width);

using Files = std::vector<std::pair<std::string, std::string>>;  // names and contents
// An ustar archive.
std::string tar_of(const Files& files);
// One header and what follows it.
std::string tar_member(const std::string& name, const std::string& content, char type = '0');

// The greatest difference of two images.
int farthest(const neon::Tensor& a, const neon::Tensor& b);

// A folder of images of two classes in DIR/images, each of a colour of its own; those packed into DIR/TO.
void write_images(const TempDir& dir, int count, int64_t side);
neon::PackResult pack(const TempDir& dir, const std::string& to, neon::PackOptions options);

}  // namespace neon_test
