// The .safetensors format: 8 bytes little-endian length, a JSON header of that length, then raw
// little-endian data. The header names each tensor's dtype, shape and [begin, end) in the data, and may hold
// `__metadata__`, texts by name. Nothing in such a file is ever executed.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "neon/core/tensor.h"

namespace neon {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

struct TensorFile {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;
  std::string path;                                 // that a checkpoint was read from
  const Tensor* find(std::string_view name) const;  // null when absent
};

// Writes the file whole or not at all (see AtomicFile). Names are written sorted; data are laid out with the
// widest elements first, so that every tensor is aligned to its element and the first to 8 bytes. Throws a
// failed error for two tensors of one name, a text that is not UTF-8, or when the disk says no.
void write_safetensors(const std::string& path, const TensorFile& file);

// Reads and checks everything: the header's grammar, doubled names, dtypes, products of shapes, ranges
// without gap or overlap that cover the file. Tensors come in the order of their data. Throws a data error
// with the file, the tensor and what is wrong; memory asked for never exceeds the file's size.
TensorFile read_safetensors(const std::string& path);

}  // namespace neon
