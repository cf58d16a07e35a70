// The encoding of protobuf: what writes a message field by field, and what reads one. The files of TensorBoard and ONNX
// have few messages, so nothing generates code for them.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace neon::protobuf {

// The bytes of a number as it lies in memory: little-endian on all machines that neon runs on.
template <typename T>
std::string bytes_of(T value) {
  std::string out(sizeof value, 0);
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

// Fields: bytes or a message, a whole number, a number of 32 or 64 bits.
std::string field(int number, std::string_view content);
std::string whole_field(int number, int64_t value);
std::string float_field(int number, float value);
std::string double_field(int number, double value);

// The fields of a message, one after the other. The message stays the caller's.
class Reader {
 public:
  explicit Reader(std::string_view message) : left_(message) {}
  // Whether there is another field, which the others then describe. Throws a data error for bytes that are no message.
  bool next();
  int number() const { return number_; }
  int64_t whole() const { return int64_t(whole_); }
  float real() const;                                  // a field of 32 bits
  std::string_view bytes() const { return content_; }  // bytes, text or a message
  std::string text() const { return std::string(content_); }

 private:
  uint64_t varint();
  std::string_view take(uint64_t count);
  std::string_view left_, content_;
  int number_ = 0;
  uint64_t whole_ = 0;
};

}  // namespace neon::protobuf
