#include "datasets/idx.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "datasets/file.h"
#include "datasets/gzip.h"

namespace neon {

namespace {

// The two places that bytes come from, read alike.
class Memory {
 public:
  Memory(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}
  size_t read(void* to, size_t size) {
    size = std::min(size, bytes_.size());
    if (size) std::memcpy(to, bytes_.data(), size);
    bytes_.remove_prefix(size);
    return size;
  }
  int64_t most_bytes() const { return int64_t(bytes_.size()); }
  const std::string& path() const { return name_; }

 private:
  std::string_view bytes_;
  const std::string& name_;
};

uint32_t big_endian_32(const char* bytes) {
  uint32_t value;
  std::memcpy(&value, bytes, 4);
  return __builtin_bswap32(value);
}

size_t element_size(char type) {
  switch (type) {
    case 0x08:
    case 0x09: return 1;
    case 0x0b: return 2;
    case 0x0c:
    case 0x0d: return 4;
    case 0x0e: return 8;
    default: return 0;
  }
}

template <typename Source>
IdxHeader read_header(Source& source) {
  char head[512];
  const size_t got = source.read(head, 4);
  const size_t axes = got == 4 ? uint8_t(head[3]) : 0;
  if (got < 4 || head[0] != 0 || head[1] != 0 || element_size(head[2]) == 0 || axes == 0 ||
      axes > size_t(Shape::kMaxRank)) {
    const std::string_view seen(head, got + source.read(head + got, sizeof head - got));
    fail(ErrorKind::data, source.path(), ": not an IDX file: starts with '", hex_text(seen.substr(0, 4)),
         "', expected 00 00, a type from 08 to 0e and the number of axes from 1 to ", Shape::kMaxRank,
         looks_like_clause(seen), "; fetch it again");
  }
  IdxHeader header{head[2], {}};
  if (source.read(head, 4 * axes) < 4 * axes)
    fail(ErrorKind::data, source.path(), ": truncated: the file ends inside its header of ", 4 + 4 * axes, " bytes");
  std::vector<int64_t> sizes;
  int64_t bytes = int64_t(element_size(header.type));
  bool overflow = false, any = true;  // any element at all
  for (size_t axis = 0; axis < axes; ++axis) {
    sizes.push_back(big_endian_32(head + 4 * axis));
    any = any && sizes.back() > 0;
    overflow = __builtin_mul_overflow(bytes, std::max<int64_t>(sizes.back(), 1), &bytes) ||
               bytes > Shape::kMostElements || overflow;
  }
  if (overflow || (any && bytes > source.most_bytes())) {
    std::string shape;
    for (int64_t size : sizes) shape += text(shape.empty() ? "" : " x ", size);
    fail(ErrorKind::data, source.path(), ": the header promises ", shape,
         " elements, more than a file of this size can hold", "; it is truncated or corrupt: fetch it again");
  }
  header.shape = Shape(sizes);
  return header;
}

// Elements of a Word each, big-endian, as elements of type Out.
template <typename Word, typename Out = Word>
Tensor swapped(const std::string& raw, DType dtype, const Shape& shape) {
  Tensor out(dtype, shape);
  auto* to = static_cast<char*>(out.data());
  for (size_t i = 0; i < size_t(shape.elements()); ++i) {
    Word word;
    std::memcpy(&word, raw.data() + i * sizeof(Word), sizeof(Word));
    if constexpr (sizeof(Word) == 2) word = __builtin_bswap16(word);
    else if constexpr (sizeof(Word) == 4) word = __builtin_bswap32(word);
    else word = __builtin_bswap64(word);
    const auto value = Out(std::make_signed_t<Word>(word));
    std::memcpy(to + i * sizeof(Out), &value, sizeof(Out));
  }
  return out;
}

[[noreturn]] void fail_short(const std::string& path, int64_t there, int64_t needed) {
  fail(ErrorKind::data, path, ": truncated: ", there, " of ", needed, " bytes of elements are there; fetch it again");
}

[[noreturn]] void fail_long(const std::string& path) {
  fail(ErrorKind::data, path, ": has bytes after its last element: the header does not fit the file");
}

template <typename Source>
void read_payload(Source& source, void* to, size_t size) {
  const size_t got = source.read(to, size);
  if (got < size) fail_short(source.path(), int64_t(got), int64_t(size));
  char more;
  // Reading past the end also makes zlib check the sum of a gzip file.
  if (source.read(&more, 1)) fail_long(source.path());
}

template <typename Source>
Tensor read_from(Source& source) {
  const IdxHeader header = read_header(source);
  if (element_size(header.type) == 1) {
    Tensor out(header.type == 0x08 ? DType::u8 : DType::i8, header.shape);
    read_payload(source, out.data(), out.bytes());
    return out;
  }
  std::string raw(size_t(header.shape.elements()) * element_size(header.type), '\0');
  read_payload(source, raw.data(), raw.size());
  switch (header.type) {
    case 0x0b: return swapped<uint16_t, int32_t>(raw, DType::i32, header.shape);
    case 0x0c: return swapped<uint32_t>(raw, DType::i32, header.shape);
    case 0x0d: return swapped<uint32_t, uint32_t>(raw, DType::f32, header.shape);
    default: return swapped<uint64_t>(raw, DType::f64, header.shape);
  }
}

}  // namespace

IdxHeader read_idx_header(const std::string& path) {
  GzipReader reader(path);
  IdxHeader header = read_header(reader);
  if (reader.plain_size() < 0) return header;
  const int64_t needed = header.shape.elements() * int64_t(element_size(header.type));
  const int64_t there = reader.plain_size() - 4 - 4 * header.shape.rank();
  if (there < needed) fail_short(path, there, needed);
  if (there > needed) fail_long(path);
  return header;
}

Tensor read_idx(const std::string& path) {
  GzipReader reader(path);
  return read_from(reader);
}

Tensor parse_idx(std::string_view bytes, const std::string& name) {
  Memory source(bytes, name);
  return read_from(source);
}

}  // namespace neon
