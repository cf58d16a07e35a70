// IDX, the format of MNIST: 00 00, a type byte, the number of axes, each size as 32 bits big-endian, then
// the elements big-endian in row-major order. Plain or gzip. Failures are data errors that name the file.
#pragma once
#include <string>
#include <string_view>

#include "neon/core/tensor.h"

namespace neon {

struct IdxHeader {
  char type = 0;  // 0x08 u8, 0x09 i8, 0x0b i16, 0x0c i32, 0x0d f32, 0x0e f64
  Shape shape;
};

// Reads a few bytes only; a plain file that is shorter or longer than they say is an error here too.
IdxHeader read_idx_header(const std::string& path);

// u8, i8, i32 (from i16 too), f32 or f64, as in the file.
Tensor read_idx(const std::string& path);

// The same from memory; `name` stands for the path in messages.
Tensor parse_idx(std::string_view bytes, const std::string& name);

}  // namespace neon
