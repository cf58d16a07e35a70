// An HDF5 file that somebody else wrote. It is not trusted: no links to other files, no external storage, no plug-ins,
// no file locks. No chunk may be larger than its data set.
#pragma once
#include <string>
#include <vector>

#include "datasets/hdf5_handle.h"
#include "neon/core/tensor.h"

namespace neon {

class Hdf5File {
 public:
  // Throws a data error if there is no such file, or if it is no HDF5 file. The other functions throw one for a data
  // set that is missing or not plainly in this file.
  explicit Hdf5File(const std::string& path);

  const std::string& path() const { return path_; }
  bool has(const char* set) const;
  Shape shape(const char* set) const;
  bool is_floating(const char* set) const;
  bool is_bytes(const char* set) const;  // u8, or bool
  int64_t item(const char* set) const;   // bytes of an element, once it is read

  // All of a data set: floats as f32, bools and bytes as u8, other whole numbers as f32. Labels are i64. Elements that
  // were never written have the data set's fill value. The caller has checked that there is room for all.
  Tensor read(const char* set, bool labels) const;

  // Whole numbers of a data set's attribute; empty if the data set lacks it.
  std::vector<int64_t> attribute(const char* set, const char* key) const;

 private:
  Hdf5Handle open_set(const char* name) const;
  Shape shape_of(hid_t set, const char* name) const;
  void check_chunks(hid_t set, const Shape& shape, const char* name) const;

  std::string path_;
  QuietHdf5 quiet_;
  Hdf5Handle file_;
};

}  // namespace neon
