// Series in arrays (rows, columns) of .npy and HDF5 files.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "neon/core/tensor.h"

namespace neon {

// Whether the name says so.
bool is_array_file(const std::string& path);

struct NamedArray {
  Tensor numbers;
  std::string source;  // "a.h5: input"
};
// `array` names one of an HDF5 file.
NamedArray read_array(const std::string& path, const std::string& array);

// The table without a header that has these numbers in its cells, whose shortest texts read back to the same bits. So
// columns are named, and messages say rows, as in a table. A data error for other than (rows, columns).
std::string table_of_array(const NamedArray& array);

// A config error for one of these keys and values of a table that is not "auto", where the file holds an array, or for
// an array's name where the file holds a table.
void check_file_keys(const std::string& path, const std::string& array,
                     const std::vector<std::pair<const char*, std::string>>& of_table);

}  // namespace neon
