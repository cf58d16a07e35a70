// Values of Python's pickles (protocol 2), as far as neon 0.9's macrobatches need them. Nothing is executed: an object
// is kept as the name of its class, its arguments and its state.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace neon {

struct PickleNode {
  enum class Kind { none, integer, text, list, map, object };
  Kind kind = Kind::none;
  int64_t integer = 0;
  size_t place = 0, bytes = 0;  // of a text, in the file
  std::string name;             // of an object's class: "numpy.dtype"
  std::vector<size_t> items;    // of a list or tuple; of a map key, value ...; of an object its arguments and state
};

class Pickle {
 public:
  // A data error that begins with `source` where `file` is no such pickle.
  Pickle(std::string_view file, std::string source);

  const PickleNode& root() const { return nodes_[root_]; }
  const PickleNode& node(size_t index) const { return nodes_[index]; }
  std::string_view text_of(const PickleNode& text) const { return file_.substr(text.place, text.bytes); }
  // Null where the map lacks the key.
  const PickleNode* find(const PickleNode& map, std::string_view key) const;
  // The numbers of a list, or of a NumPy array of integers. Any other value is a data error that names `what`.
  std::vector<int64_t> integers_of(const PickleNode& node, const char* what) const;
  // The bytes of a NumPy array of uint8, as they lie there. Any other value is a data error that names `what`.
  std::string_view bytes_of(const PickleNode& node, const char* what) const;

 private:
  friend class PickleReader;
  struct Array {
    std::string_view type, bytes;  // "i4"
  };
  // Empty where the node is no NumPy array.
  Array array_of(const PickleNode& node) const;

  std::string_view file_;  // borrowed
  std::string source_;
  std::vector<PickleNode> nodes_;
  size_t root_ = 0;
};

}  // namespace neon
