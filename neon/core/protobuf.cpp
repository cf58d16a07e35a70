#include "neon/core/protobuf.h"

#include "neon/core/error.h"

namespace neon::protobuf {

namespace {

// How a field is encoded: its lowest three bits say.
constexpr uint64_t kVarint = 0, kEightBytes = 1, kCounted = 2, kFourBytes = 5;

std::string varint_of(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += char(value | 0x80);
  return out + char(value);
}

std::string head(int number, uint64_t kind) { return varint_of(uint64_t(number) << 3 | kind); }

}  // namespace

std::string field(int number, std::string_view content) {
  std::string out = head(number, kCounted) + varint_of(content.size());
  return out.append(content);
}
std::string whole_field(int number, int64_t value) { return head(number, kVarint) + varint_of(uint64_t(value)); }
std::string float_field(int number, float value) { return head(number, kFourBytes) + bytes_of(value); }
std::string double_field(int number, double value) { return head(number, kEightBytes) + bytes_of(value); }

uint64_t Reader::varint() {
  uint64_t out = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = uint8_t(take(1)[0]);
    out |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80) return out;
  }
  fail(ErrorKind::data, "a number of a protobuf message has no end");
}

std::string_view Reader::take(uint64_t count) {
  if (count > left_.size()) fail(ErrorKind::data, "a protobuf message is cut off");
  const std::string_view out = left_.substr(0, count);
  left_.remove_prefix(count);
  return out;
}

bool Reader::next() {
  if (left_.empty()) return false;
  const uint64_t key = varint(), kind = key & 7;
  number_ = int(key >> 3);
  if (kind == kVarint) whole_ = varint();
  else if (kind == kEightBytes) content_ = take(8);
  else if (kind == kCounted) content_ = take(varint());
  else if (kind == kFourBytes) content_ = take(4);
  else fail(ErrorKind::data, "a protobuf message has a field of unknown kind ", kind);
  return true;
}

float Reader::real() const {
  float out = 0;
  if (content_.size() != sizeof out) fail(ErrorKind::data, "a protobuf field is no number of 32 bits");
  std::memcpy(&out, content_.data(), sizeof out);
  return out;
}

}  // namespace neon::protobuf
