// Writes arrays as NumPy's .npz: a zip archive of stored members, in one file of at most 4 GiB.
#pragma once
#include <string>

#include "neon/core/tensor.h"
#include "neon/train/atomic_file.h"

namespace neon {

class NpzWriter {
 public:
  explicit NpzWriter(const std::string& path) : file_(path) {}
  // bf16, which NumPy lacks, is written as f32.
  void add(const std::string& name, const Tensor& tensor);
  // The file is whole from here on; before that it is not there.
  void close();

 private:
  void add_file(const std::string& name, const std::string& content);
  void write(const std::string& bytes);
  AtomicFile file_;
  std::string directory_;
  size_t at_ = 0;
  uint16_t count_ = 0;
};

}  // namespace neon
