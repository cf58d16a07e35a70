#include "datasets/series_array.h"

#include <cmath>

#include "datasets/file.h"
#include "datasets/hdf5_file.h"
#include "datasets/npy.h"

namespace neon {

namespace {

constexpr const char* kUsualArray = "input";
constexpr double kMostWhole = 1e15;

bool is_npy(const std::string& path) { return lower(path).ends_with(".npy"); }

bool is_hdf5(const std::string& path) {
  const std::string small = lower(path);
  return small.ends_with(".h5") || small.ends_with(".hdf5") || small.ends_with(".hdf");
}

// Whole numbers without an exponent, as a table has them.
std::string cell_of(const Tensor& numbers, int64_t i) {
  const double value = numbers.at(i);
  if (std::abs(value) < kMostWhole && double(int64_t(value)) == value) return text(int64_t(value));
  return numbers.dtype() == DType::f32 ? text(float(value)) : text(value);
}

}  // namespace

bool is_array_file(const std::string& path) { return is_npy(path) || is_hdf5(path); }

NamedArray read_array(const std::string& path, const std::string& array) {
  if (is_npy(path)) return {read_npy(path), path};
  return {open_hdf5(path)->read(array.c_str(), false), text(path, ": ", array)};
}

std::string table_of_array(const NamedArray& array) {
  const Shape& shape = array.numbers.shape();
  if (shape.rank() != 2 || shape[1] == 0)
    fail(ErrorKind::data, array.source, ": is ", shape, "; expected (rows, columns)");
  std::string out;
  for (int64_t i = 0; i < shape.elements(); ++i)
    out += cell_of(array.numbers, i) + ((i + 1) % shape[1] == 0 ? '\n' : ',');
  return out;
}

void check_file_keys(const std::string& path, const std::string& array,
                     const std::vector<std::pair<const char*, std::string>>& of_table) {
  if (!is_hdf5(path) && array != kUsualArray)
    fail(ErrorKind::config, "array: ", in_quotes(array), " is the name of an array in an HDF5 file, and ", path,
         " is not such a file; leave it out");
  for (const auto& [key, value] : of_table)
    if (is_array_file(path) && value != "auto")
      fail(ErrorKind::config, key, ": ", value, " is for a table, and ", path, " holds an array; leave it out");
}

}  // namespace neon
