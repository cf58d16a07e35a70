#include "neon/train/event_file.h"

#include <fcntl.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>

#include "datasets/file.h"
#include "neon/core/error.h"
#include "neon/core/paths.h"
#include "neon/core/protobuf.h"

namespace neon {

namespace {

using protobuf::double_field, protobuf::field, protobuf::float_field, protobuf::whole_field;

constexpr uint32_t kCastagnoli = 0x82f63b78;  // reflected

constexpr std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> out{};
  for (uint32_t i = 0; i < 256; ++i) {
    out[i] = i;
    for (int bit = 0; bit < 8; ++bit) out[i] = (out[i] >> 1) ^ (out[i] & 1 ? kCastagnoli : 0);
  }
  return out;
}

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// A checksum as TFRecord has it.
std::string masked_crc(std::string_view bytes) {
  return protobuf::bytes_of<uint32_t>(std::rotr(crc32c_of(bytes), 15) + 0xa282ead8u);
}

// Event: wall_time 1, step 2, file_version 3, summary 5, session_log 7. Summary: value 1. Value: tag 1, simple_value 2.
// SessionLog: status 1.
constexpr int kTime = 1, kStep = 2, kVersion = 3, kSummary = 5, kSession = 7;
constexpr int64_t kSessionStarts = 1;

// A name that no file of the folder has.
FileHandle new_file(const std::string& folder, std::string& path) {
  const std::string begin = join_path(folder, text("events.out.tfevents.", int64_t(unix_time()), ".neon"));
  path = begin;
  for (int number = 2;; ++number) {
    FileHandle out(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (out) return out;
    if (errno != EEXIST) fail(ErrorKind::failed, path, ": cannot be made: ", system_message(errno));
    path = text(begin, '.', number);
  }
}

}  // namespace

uint32_t crc32c_of(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = crc_table();
  uint32_t crc = ~0u;
  for (const char byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ uint8_t(byte)) & 0xff];
  return ~crc;
}

EventFile::EventFile(const std::string& folder, bool resumes) : resumes_(resumes) {
  make_folders(folder);
  std::string path;
  FileHandle file = new_file(folder, path);
  file_ = GrowingFile(path, std::move(file), 0);
  add_event(0, field(kVersion, "brain.Event:2"));
}

void EventFile::add_event(int64_t step, const std::string& more) {
  const std::string event = double_field(kTime, unix_time()) + whole_field(kStep, step) + more;
  const std::string length = protobuf::bytes_of(uint64_t(event.size()));
  file_.add(length + masked_crc(length) + event + masked_crc(event));
}

void EventFile::add(int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  if (std::exchange(resumes_, false)) add_event(step, field(kSession, whole_field(1, kSessionStarts)));
  std::string summary;
  for (const auto& [name, value] : values) summary += field(1, field(1, name) + float_field(2, float(value)));
  add_event(step, field(kSummary, summary));
}

}  // namespace neon
