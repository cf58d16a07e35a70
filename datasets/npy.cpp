#include "datasets/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "datasets/npy_header.h"
#include "neon/core/text.h"

namespace neon {

namespace {

constexpr int64_t kMaxHeader = 1 << 20;  // NumPy itself writes a few hundred bytes
constexpr int64_t kMostPrefix = 4096;    // of an array in an archive, to read its header from

template <size_t size>
void reverse_each(char* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) std::reverse(bytes + i * size, bytes + (i + 1) * size);
}

void to_little_endian(char* bytes, size_t count, int item) {
  if (item == 2) reverse_each<2>(bytes, count);
  if (item == 4) reverse_each<4>(bytes, count);
  if (item == 8) reverse_each<8>(bytes, count);
}

// Elements in Fortran order (first axis fastest) to our row-major order.
std::string row_major(const std::string& raw, const Shape& shape, size_t item) {
  std::string out(raw.size(), '\0');
  std::vector<int64_t> stride(size_t(shape.rank()), 1), index(size_t(shape.rank()), 0);
  for (int axis = 1; axis < shape.rank(); ++axis) stride[size_t(axis)] = stride[size_t(axis - 1)] * shape[axis - 1];
  int64_t from = 0;
  for (int64_t i = 0; i < shape.elements(); ++i) {
    std::memcpy(out.data() + size_t(i) * item, raw.data() + size_t(from) * item, item);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const auto a = size_t(axis);
      from += stride[a];
      if (++index[a] < shape[axis]) break;
      from -= stride[a] * shape[axis];
      index[a] = 0;
    }
  }
  return out;
}

template <typename From, typename To>
Tensor cast(const std::string& raw, DType dtype, const NpyHeader& header, const std::string& name) {
  Tensor out(dtype, header.shape);
  auto* to = static_cast<char*>(out.data());
  for (size_t i = 0; i < size_t(header.shape.elements()); ++i) {
    From value;
    std::memcpy(&value, raw.data() + i * sizeof(From), sizeof(From));
    if constexpr (std::is_same_v<From, uint64_t>)
      if (value > uint64_t(INT64_MAX))
        fail(ErrorKind::data, name, ": element ", i, " is ", value, ", more than 2^63 - 1");
    const auto converted = To(value);
    std::memcpy(to + i * sizeof(To), &converted, sizeof(To));
  }
  return out;
}

// The dtype that takes the elements as they are; false when they need a wider one.
bool direct_dtype(const NpyHeader& header, DType& out) {
  const std::string key = std::string(1, header.kind) + char('0' + header.item);
  if (key == "u1") return out = DType::u8, true;
  if (key == "i1") return out = DType::i8, true;
  if (key == "i4") return out = DType::i32, true;
  if (key == "i8") return out = DType::i64, true;
  if (key == "f2") return out = DType::f16, true;
  if (key == "f4") return out = DType::f32, true;
  if (key == "f8") return out = DType::f64, true;
  return false;
}

// Whether the elements lie as in our memory, as this dtype.
bool lies_as_ours(const NpyHeader& header, DType& out) {
  return direct_dtype(header, out) && !header.fortran && (header.order != '>' || header.item == 1);
}

Tensor widen(const std::string& raw, const NpyHeader& header, const std::string& name) {
  if (header.kind == 'b') {
    Tensor out = cast<uint8_t, uint8_t>(raw, DType::u8, header, name);
    for (uint8_t& value : out.as<uint8_t>()) value = value != 0;
    return out;
  }
  if (header.kind == 'i') return cast<int16_t, int32_t>(raw, DType::i32, header, name);
  if (header.item == 2) return cast<uint16_t, int32_t>(raw, DType::i32, header, name);
  if (header.item == 4) return cast<uint32_t, int64_t>(raw, DType::i64, header, name);
  return cast<uint64_t, int64_t>(raw, DType::i64, header, name);
}

// Checks that the declared array and the bytes there are agree. `available` counts from data_offset.
void check_size(const NpyHeader& header, int64_t available, const std::string& name) {
  const int64_t needed = header.shape.elements() * header.item;
  if (available < needed)
    fail(ErrorKind::data, name, ": truncated: the header declares ", header.shape, " elements of ", header.item,
         " bytes, ", needed, " in all, but only ", available, " bytes follow");
  if (available > needed)
    fail(ErrorKind::data, name, ": ", available - needed, " bytes stand after the array ", header.shape,
         ": the header does not fit the file");
}

NpyHeader header_of(const ByteSource& source, int64_t size) {
  std::string head(size_t(std::min<int64_t>(source.size(), 300)), '\0');
  source.read_at(0, head.data(), head.size());
  if (head.size() < 10 || !head.starts_with("\x93NUMPY"))
    fail(ErrorKind::data, source.name(), ": not a NumPy .npy file", looks_like_clause(head));
  const int version = uint8_t(head[6]);
  if (version < 1 || version > 3)
    fail(ErrorKind::data, source.name(), ": .npy version ", version, ".", int(uint8_t(head[7])), ": 1 to 3 are read");
  const size_t length_bytes = version == 1 ? 2 : 4;
  if (head.size() < 8 + length_bytes) fail(ErrorKind::data, source.name(), ": truncated inside its header");
  uint32_t length = 0;
  std::memcpy(&length, head.data() + 8, length_bytes);
  const int64_t start = int64_t(8 + length_bytes);
  if (int64_t(length) > std::min(kMaxHeader, source.size() - start))
    fail(ErrorKind::data, source.name(), ": corrupt: declares a header of ", length, " bytes, the file has ",
         source.size());
  std::string literal(length, '\0');
  source.read_at(start, literal.data(), literal.size());
  NpyHeader header = parse_npy_literal(literal, source.name());
  header.data_offset = start + int64_t(length);
  check_size(header, size - header.data_offset, source.name());
  return header;
}

}  // namespace

NpyHeader read_npy_header(const ByteSource& source) { return header_of(source, source.size()); }

Tensor read_npy(const ByteSource& source) {
  const NpyHeader header = read_npy_header(source);
  DType dtype{};
  if (lies_as_ours(header, dtype)) {
    Tensor out(dtype, header.shape);
    source.read_at(header.data_offset, out.data(), out.bytes());
    return out;
  }
  std::string raw(size_t(header.shape.elements() * header.item), '\0');
  source.read_at(header.data_offset, raw.data(), raw.size());
  if (header.order == '>') to_little_endian(raw.data(), size_t(header.shape.elements()), header.item);
  if (header.fortran && header.shape.rank() > 1) raw = row_major(raw, header.shape, size_t(header.item));
  if (!direct_dtype(header, dtype)) return widen(raw, header, source.name());
  Tensor out(dtype, header.shape);
  if (!raw.empty()) std::memcpy(out.data(), raw.data(), raw.size());
  return out;
}

NpyHeader read_npy_header(const std::string& path) { return read_npy_header(FileSource(path)); }
Tensor read_npy(const std::string& path) { return read_npy(FileSource(path)); }

std::vector<std::string> Npz::names() const {
  std::vector<std::string> out;
  for (const auto& member : zip_.members())
    out.push_back(member.name.ends_with(".npy") ? member.name.substr(0, member.name.size() - 4) : member.name);
  return out;
}

const ZipArchive::Member* Npz::member(const std::string& name) const {
  const auto* found = zip_.find(name + ".npy");
  return found ? found : zip_.find(name);
}

const ZipArchive::Member& Npz::require(const std::string& name) const {
  if (const auto* found = member(name)) return *found;
  constexpr size_t kMost = 20;
  const std::vector<std::string> all = names();
  std::vector<std::string> first;
  for (size_t i = 0; i < std::min(all.size(), kMost); ++i) first.push_back(printable(all[i], 80));
  fail(ErrorKind::data, file_.name(), ": has no array ", in_quotes(name), did_you_mean(name, all), " (it has ",
       all.empty() ? "none" : join(first, ", "), all.size() > kMost ? text(" and ", all.size() - kMost, " more") : "",
       ")");
}

NpyHeader Npz::header(const std::string& name) const {
  const auto& found = require(name);
  const std::string prefix = zip_.read_prefix(found, kMostPrefix);
  return header_of(MemorySource(prefix, file_.name() + ": " + name), found.size);
}

// Large arrays are mostly stored so, and need no memory beside their own.
std::optional<Tensor> Npz::read_stored(const ZipArchive::Member& found) const {
  DType dtype{};
  NpyHeader header;
  try {
    const std::string prefix = zip_.read_prefix(found, kMostPrefix);
    header = header_of(MemorySource(prefix, found.name), found.size);
  } catch (const Error&) {  // read() reports it, or another sum before it
    return {};
  }
  if (found.method != 0 || !lies_as_ours(header, dtype)) return {};
  std::string head(size_t(header.data_offset), '\0');
  Tensor out(dtype, header.shape);
  zip_.read_stored(found, head, {static_cast<char*>(out.data()), out.bytes()});
  return out;
}

Tensor Npz::read(const std::string& name) const {
  const auto& found = require(name);
  if (std::optional<Tensor> out = read_stored(found)) return *std::move(out);
  const std::string content = zip_.read(found);
  return read_npy(MemorySource(content, file_.name() + ": " + name));
}

}  // namespace neon
