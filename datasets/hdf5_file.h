// An HDF5 file that somebody else wrote. It is not trusted: no links to other files, no external storage, no plug-ins,
// no file locks. No chunk may be larger than its data set. HDF5 is loaded for the first file, in a module of its own.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "neon/core/part.h"
#include "neon/core/tensor.h"

namespace neon {

// The functions throw a data error for a data set that is missing or not plainly in this file.
class Hdf5File {
 public:
  virtual ~Hdf5File() = default;
  const std::string& path() const { return path_; }
  virtual bool has(const char* set) const = 0;
  virtual Shape shape(const char* set) const = 0;
  virtual bool is_floating(const char* set) const = 0;
  virtual bool is_bytes(const char* set) const = 0;  // u8, or bool
  virtual bool is_wide(const char* set) const = 0;   // f64, or whole numbers of 32 bits or more: f32 may round them
  // Bytes of an element, once it is read.
  int64_t item(const char* set) const { return is_bytes(set) ? 1 : is_floating(set) ? 4 : 8; }

  // All of a data set: floats as f32, bools and bytes as u8, other whole numbers as f32. Labels are i64. Elements that
  // were never written have the data set's fill value. The caller has checked that there is room for all.
  virtual Tensor read(const char* set, bool labels) const = 0;

  // Whole numbers of a data set's attribute; empty if the data set lacks it.
  virtual std::vector<int64_t> attribute(const char* set, const char* key) const = 0;

 protected:
  explicit Hdf5File(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

struct Hdf5Part {
  static constexpr PartName kName = {"hdf5", "HDF5 files need", "libhdf5-dev"};
  std::unique_ptr<Hdf5File> (*open)(const std::string& path);
};

// Throws a data error if there is no such file, or if it is no HDF5 file.
inline std::unique_ptr<Hdf5File> open_hdf5(const std::string& path) { return part<Hdf5Part>().open(path); }

}  // namespace neon
