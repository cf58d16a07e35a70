#include "datasets/shard.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "datasets/gzip.h"
#include "neon/core/error.h"

namespace neon {

namespace {

constexpr std::string_view kShardMagic = "NEONSHRD";
constexpr uint32_t kVersion = 1;
constexpr size_t kRowBytes = 24, kTrailerBytes = 32;

template <typename T>
void append(std::string& to, T number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);
}
template <typename T>
T number_at(const char* from) {
  T out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

}  // namespace

Shard::Shard(std::unique_ptr<ByteSource> bytes) : bytes_(std::move(bytes)) {
  auto damaged = [&](const std::string& what) {
    fail(ErrorKind::data, name(), ": no shard, or a damaged one: ", what, "; pack the data again");
  };
  if (bytes_->size() < int64_t(kTrailerBytes)) damaged(text(bytes_->size(), " bytes are too few"));
  const auto size = uint64_t(bytes_->size()) - kTrailerBytes;
  char trailer[kTrailerBytes];
  bytes_->read_at(int64_t(size), trailer, kTrailerBytes);
  if (std::string_view(trailer + 24, 8) != kShardMagic) damaged("it does not end as a shard does");
  if (const auto version = number_at<uint32_t>(trailer + 20); version != kVersion)
    fail(ErrorKind::data, name(), ": a shard of version ", version, ", this neon reads version ", kVersion);
  const auto place = number_at<uint64_t>(trailer), count = number_at<uint64_t>(trailer + 8);
  if (place > size || (size - place) % kRowBytes || (size - place) / kRowBytes != count)
    damaged("its table has another size");
  std::string table(size - place, '\0');
  bytes_->read_at(int64_t(place), table.data(), table.size());
  if (crc32_of(table) != number_at<uint32_t>(trailer + 16)) damaged("its table has another checksum");
  rows_.resize(count);
  if (count) std::memcpy(rows_.data(), table.data(), table.size());
  uint64_t end = 0;
  for (const Row& row : rows_) {
    if (row.place != end || row.bytes > place - end || row.label < 0)
      damaged("its table does not describe its contents");
    end += row.bytes;
  }
  if (end != place) damaged("its table does not describe its contents");
}

std::string Shard::where(int64_t sample) const { return text(name(), ": sample ", sample); }

std::string Shard::content(int64_t sample) const {
  std::string out(size_t(content_bytes(sample)), '\0');
  read(sample, out.data());
  return out;
}

void Shard::read(int64_t sample, void* to) const {
  const Row& row = rows_[size_t(sample)];
  bytes_->read_at(int64_t(row.place), to, row.bytes);
  if (crc32_of({static_cast<const char*>(to), row.bytes}) != row.sum)
    fail(ErrorKind::data, where(sample), ": its checksum is wrong: the file was damaged; pack the data again");
}

// The lock says that somebody is at work here, also to another process.
ShardWriter::ShardWriter(const std::string& path)
    : path_(path), file_(file_exists(path) ? nullptr : std::fopen(part().c_str(), "wbxe")) {
  if (!file_) fail(ErrorKind::data, path, ": cannot be made: ", std::strerror(file_exists(path) ? EEXIST : errno));
  flock(fileno(file_), LOCK_EX | LOCK_NB);
}

ShardWriter::ShardWriter(ShardWriter&& other) noexcept
    : path_(std::move(other.path_)),
      table_(std::move(other.table_)),
      file_(std::exchange(other.file_, nullptr)),
      kept_(other.kept_),
      place_(other.place_),
      samples_(other.samples_) {}

ShardWriter::~ShardWriter() {
  if (file_ && !kept_) unlink(part().c_str());
  if (file_) std::fclose(file_);
}

void ShardWriter::remove_unfinished(const std::string& part) {
  const int file = ::open(part.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(ErrorKind::data, part, ": ", std::strerror(errno));
  const bool in_use = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (!in_use) unlink(part.c_str());
  close(file);
  if (in_use)
    fail(ErrorKind::data, part, ": another neon data pack is writing here; wait for it, or give another folder");
}

void ShardWriter::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size())
    fail(ErrorKind::failed, path_, ": cannot be written: ", std::strerror(errno));
}

void ShardWriter::add(std::string_view content, int32_t label) {
  if (content.size() > UINT32_MAX)
    fail(ErrorKind::data, path_, ": a sample of ", content.size(), " bytes is too large");
  write(content);
  append(table_, place_);
  append(table_, uint32_t(content.size()));
  append(table_, crc32_of(content));
  append(table_, label);
  append(table_, uint32_t(0));
  place_ += content.size();
  ++samples_;
}

void ShardWriter::finish() {
  std::string trailer;
  append(trailer, place_);
  append(trailer, uint64_t(samples_));
  append(trailer, crc32_of(table_));
  append(trailer, kVersion);
  write(table_);
  write(trailer);
  write(kShardMagic);
  const bool good = std::fflush(file_) == 0 && fsync(fileno(file_)) == 0;
  const int error = errno;
  if (!good) fail(ErrorKind::failed, path_, ": cannot be written: ", std::strerror(error));
}

void ShardWriter::keep() {
  if (std::rename(part().c_str(), path_.c_str()) != 0)
    fail(ErrorKind::failed, path_, ": cannot be written: ", std::strerror(errno));
  kept_ = true;
}

}  // namespace neon
