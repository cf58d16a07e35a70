// The file is a header of 128 bytes and elements: u32 type, u32 bytes, the bytes, and zeros up to a multiple of 8; or,
// of at most 4 bytes, u16 type, u16 bytes, the bytes. A matrix is an element made of elements, which may be compressed.
#include "datasets/matlab.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "neon/core/error.h"

namespace neon {

namespace {

constexpr size_t kHeader = 128, kMostUnpacked = size_t(1) << 26, kMostStructs = size_t(1) << 20;
constexpr uint32_t kMatrix = 14, kCompressed = 15;                      // types of elements
constexpr uint8_t kStructClass = 2, kTextClass = 4, kFirstNumbers = 6;  // of matrices

struct Element {
  uint32_t type = 0;
  std::string_view bytes;
};

class MatlabReader {
 public:
  MatlabReader(const std::string& variable, const std::string& name) : variable_(variable), name_(name) {}

  std::vector<MatlabStruct> structs(std::string_view bytes) {
    std::vector<MatlabStruct> out;
    if (find(bytes, [&](std::string_view matrix) { return take_structs(matrix, out); })) return out;
    fail(ErrorKind::data, name_, ": holds no struct array ", variable_);
  }

  MatlabArray array(std::string_view bytes) {
    MatlabArray out;
    if (find(bytes, [&](std::string_view matrix) { return take_array(matrix, out); })) return out;
    fail(ErrorKind::data, name_, ": holds no array of numbers ", variable_);
  }

 private:
  // Hands the matrices of the file to `take`, until one is taken.
  template <typename Take>
  bool find(std::string_view bytes, const Take& take) {
    const std::string_view order = bytes.size() < kHeader ? "" : bytes.substr(kHeader - 2, 2);
    if (order != "IM" && order != "MI") fail(ErrorKind::data, name_, ": expected a MATLAB file of version 5 to 7.2");
    swaps_ = order == "MI";  // written on a big-endian machine
    for (bytes.remove_prefix(kHeader); !bytes.empty();) {
      Element element = next(bytes);
      std::string unpacked;
      if (element.type == kCompressed) {
        unpacked = inflated(element.bytes);
        std::string_view all = unpacked;
        element = next(all);
      }
      if (element.type == kMatrix && take(element.bytes)) return true;
    }
    return false;
  }

  [[noreturn]] void damaged(const char* what) const { fail(ErrorKind::data, name_, ": damaged: ", what); }

  template <typename T>
  T number_at(std::string_view bytes, size_t at) const {
    char own[sizeof(T)];
    std::memcpy(own, bytes.data() + at, sizeof own);
    if (swaps_) std::reverse(own, own + sizeof own);
    T out;
    std::memcpy(&out, own, sizeof out);
    return out;
  }
  uint32_t word(std::string_view bytes, size_t at) const { return number_at<uint32_t>(bytes, at); }

  // The first element of `rest`, which is taken off it.
  Element next(std::string_view& rest) const {
    if (rest.size() < 8) damaged("an element ends within its head");
    const uint32_t first = word(rest, 0);
    const bool small = first >> 16;
    const size_t size = small ? first >> 16 : word(rest, 4), begin = small ? 4 : 8;
    if (size > (small ? 4 : rest.size() - 8)) damaged("an element is longer than what holds it");
    const Element out{small ? first & 0xffff : first, rest.substr(begin, size)};
    const size_t padded = out.type == kCompressed ? size : (size + 7) / 8 * 8;
    rest.remove_prefix(small ? 8 : std::min(8 + padded, rest.size()));
    return out;
  }

  std::string inflated(std::string_view packed) const {
    std::string out;
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) fail(ErrorKind::memory, name_, ": no memory to unpack it");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = uInt(packed.size());
    int code = Z_OK;
    while (code == Z_OK && out.size() < kMostUnpacked) {
      const size_t before = out.size(), step = size_t(1) << 16;
      out.resize(before + step);
      stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
      stream.avail_out = uInt(step);
      code = inflate(&stream, Z_NO_FLUSH);
      out.resize(before + step - stream.avail_out);
    }
    inflateEnd(&stream);
    if (code != Z_STREAM_END) damaged("a compressed element cannot be unpacked");
    return out;
  }

  // A matrix begins with its class, sizes and name.
  struct Matrix {
    uint8_t kind = 0;
    size_t elements = 1;
    std::vector<int64_t> sizes;
    std::string_view name, rest;
  };
  Matrix matrix(std::string_view bytes) const {
    Matrix out;
    const std::string_view flags = next(bytes).bytes, sizes = next(bytes).bytes;
    if (flags.size() < 4) damaged("a matrix without a class");
    out.kind = uint8_t(word(flags, 0));
    for (size_t at = 0; at + 4 <= sizes.size(); at += 4) {
      out.sizes.push_back(word(sizes, at));
      if (__builtin_mul_overflow(out.elements, size_t(word(sizes, at)), &out.elements)) damaged("a matrix too large");
    }
    out.name = next(bytes).bytes;
    out.rest = bytes;
    return out;
  }

  bool take_structs(std::string_view bytes, std::vector<MatlabStruct>& out) const {
    Matrix all = matrix(bytes);
    if (all.name != variable_ || all.kind != kStructClass) return false;
    const std::string_view width = next(all.rest).bytes, names = next(all.rest).bytes;
    const size_t length = width.size() == 4 ? word(width, 0) : 0;
    if (length == 0 || names.size() % length || names.empty()) damaged("a struct without names of its fields");
    if (all.elements > kMostStructs) damaged("more structs than any file of this kind has");
    for (size_t k = 0; k < all.elements; ++k) {
      out.emplace_back();
      for (size_t at = 0; at < names.size(); at += length) {
        const std::string_view field = names.substr(at, length);
        out.back()[std::string(field.substr(0, field.find('\0')))] = value(next(all.rest).bytes);
      }
    }
    return true;
  }

  bool take_array(std::string_view bytes, MatlabArray& out) const {
    Matrix all = matrix(bytes);
    if (all.name != variable_ || all.kind < kFirstNumbers) return false;
    out.sizes = all.sizes;
    out.numbers = numbers_of(next(all.rest));
    if (out.numbers.size() != all.elements) damaged("an array has other numbers than its sizes say");
    return true;
  }

  MatlabValue value(std::string_view bytes) const {
    MatlabValue out;
    if (bytes.empty()) return out;
    Matrix one = matrix(bytes);
    if (one.kind < kTextClass || one.kind == 5 || one.elements == 0) return out;  // cells, structs, sparse ones
    const Element data = next(one.rest);
    const std::vector<double> numbers = numbers_of(data);
    if (one.kind != kTextClass) out.numbers = numbers;
    else
      for (double code : numbers) out.text += code >= 0 && code < 128 ? char(code) : '?';
    return out;
  }

  template <typename T>
  std::vector<double> read(std::string_view bytes) const {
    std::vector<double> out;
    for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) out.push_back(double(number_at<T>(bytes, at)));
    return out;
  }

  // Numbers are stored in the smallest type that holds them, whatever the matrix's is.
  std::vector<double> numbers_of(const Element& data) const {
    switch (data.type) {
      case 1: return read<int8_t>(data.bytes);
      case 2:
      case 16: return read<uint8_t>(data.bytes);  // 16: UTF-8
      case 3: return read<int16_t>(data.bytes);
      case 4:
      case 17: return read<uint16_t>(data.bytes);  // 17: UTF-16
      case 5: return read<int32_t>(data.bytes);
      case 6: return read<uint32_t>(data.bytes);
      case 7: return read<float>(data.bytes);
      case 9: return read<double>(data.bytes);
      case 12: return read<int64_t>(data.bytes);
      case 13: return read<uint64_t>(data.bytes);
      default: damaged("numbers of an unknown type");
    }
  }

  const std::string& variable_;
  const std::string& name_;
  bool swaps_ = false;
};

}  // namespace

std::vector<MatlabStruct> read_matlab_structs(std::string_view bytes, const std::string& variable,
                                              const std::string& name) {
  return MatlabReader(variable, name).structs(bytes);
}

MatlabArray read_matlab_array(std::string_view bytes, const std::string& variable, const std::string& name) {
  return MatlabReader(variable, name).array(bytes);
}

}  // namespace neon
