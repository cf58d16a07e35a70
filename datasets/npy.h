// NumPy's .npy (versions 1 to 3) and .npz, read without NumPy. Little- and big-endian, C and Fortran order;
// bool, integers and floats. Object arrays are pickles, which can run code: they are refused. Failures are
// data errors that name the file.
//
// b1 u1 -> u8; i1 -> i8; i2 u2 i4 -> i32; u4 i8 u8 -> i64; f2 -> f16; f4 -> f32; f8 -> f64.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/file.h"
#include "datasets/zip.h"
#include "neon/core/tensor.h"

namespace neon {

struct NpyHeader {
  char order = '|';  // '<' little, '>' big, '|' bytes
  char kind = 0;     // b i u f
  int item = 0;      // bytes an element
  bool fortran = false;
  Shape shape;
  int64_t data_offset = 0;  // bytes from the start of the file

  bool is_floating() const { return kind == 'f'; }
};

// Reads only the header. The array it declares is known to fit the bytes that follow.
NpyHeader read_npy_header(const ByteSource& source);
Tensor read_npy(const ByteSource& source);

NpyHeader read_npy_header(const std::string& path);
Tensor read_npy(const std::string& path);

// An .npz: named arrays.
class Npz {
 public:
  explicit Npz(const std::string& path) : file_(path), zip_(file_) {}
  std::vector<std::string> names() const;  // without ".npy"
  bool has(const std::string& name) const { return member(name) != nullptr; }
  // Throws with the names that are there when this one is not.
  NpyHeader header(const std::string& name) const;
  Tensor read(const std::string& name) const;

 private:
  const ZipArchive::Member* member(const std::string& name) const;
  const ZipArchive::Member& require(const std::string& name) const;
  std::optional<Tensor> read_stored(const ZipArchive::Member& found) const;
  FileSource file_;
  ZipArchive zip_;
};

}  // namespace neon
