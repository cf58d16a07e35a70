// The header of a .safetensors file as text and as a table. For the readers and writers in this folder.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "neon/train/atomic_file.h"
#include "neon/train/safetensors.h"

namespace neon {

struct TensorEntry {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  size_t begin = 0, end = 0;  // bytes, from the start of the data
};

struct SafetensorsHeader {
  std::vector<TensorEntry> entries;  // in the order of their data
  std::map<std::string, std::string> metadata;
};

// The order and places in which the tensors are written. Throws a failed error for doubled names.
// order[i] is the index in `tensors` of entries[i].
SafetensorsHeader lay_out(const TensorFile& file, std::vector<size_t>& order);

// The JSON text, padded with spaces so that text and length together are a multiple of 8 bytes.
std::string format_header(const SafetensorsHeader& header);

// The JSON text as it stands in the file; throws a data error where the file is too short for it.
std::string read_header_text(const FileHandle& file, const std::string& path);

// Reads and checks the JSON text against the number of data bytes that follow it. `path` is for messages;
// throws a data error.
SafetensorsHeader parse_header(std::string_view json, size_t data_bytes, const std::string& path);

// A flat JSON object of texts; throws a data error that starts with `what`.
std::map<std::string, std::string> parse_texts(std::string_view json, const std::string& what);
std::string format_texts(const std::map<std::string, std::string>& texts);

// An open .safetensors file whose header has been checked.
class SafetensorsReader {
 public:
  explicit SafetensorsReader(const std::string& path) : SafetensorsReader(open_to_read(path), path) {}
  SafetensorsReader(FileHandle file, const std::string& path);
  const SafetensorsHeader& header() const { return header_; }
  const std::string& header_text() const { return text_; }  // as it stands in the file
  Tensor read(const TensorEntry& entry) const;
  // Some of the data, `offset` counted from their start.
  void read_bytes(size_t offset, void* to, size_t bytes) const;

 private:
  FileHandle file_;
  std::string path_, text_;
  SafetensorsHeader header_;
};

}  // namespace neon
