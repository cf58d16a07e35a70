// Files that may be gzip-compressed, read without unpacking them to disk, and raw deflate for zip members.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace neon {

// Bytes that come one after the other: of a file, or of memory (fuzzing).
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Up to `size` bytes; fewer only at the end.
  virtual size_t read(void* to, size_t size) = 0;
  // Passes over up to `bytes`; fewer only at the end.
  virtual int64_t skip(int64_t bytes);
  const std::string& path() const { return path_; }  // for messages

 protected:
  explicit ByteStream(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Reads a plain or a gzip file from its start, in pieces. Every failure (missing, truncated, corrupt) is an
// ErrorKind::data that starts with the path.
class GzipReader : public ByteStream {
 public:
  explicit GzipReader(const std::string& path);
  // From an open file that may be a pipe, as stdin is; `name` stands for the path in messages. It stays open.
  GzipReader(int descriptor, const std::string& name);
  ~GzipReader() override;
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  size_t read(void* to, size_t size) override;
  // The next bytes, at most `size`, which read() will give again.
  std::string_view peek(size_t size);
  // No file of this size on disk can hold more bytes than this. A header that claims more is a lie, and is refused
  // before memory is asked for. A pipe's size is unknown.
  int64_t most_bytes() const { return most_bytes_; }
  // The exact size of a plain file; -1 for a compressed file.
  int64_t plain_size() const { return plain_size_; }
  // The most bytes that read_maybe_gzip() unpacks, since a few bytes of gzip can hold a thousand times as many. For a
  // file: 256 MiB, or 100 times its size if that is more; for a pipe: 1 GiB. -1: the content is not compressed.
  int64_t most_unpacked() const;

 private:
  void take(void* file);
  size_t read_file(void* to, size_t size);
  void* file_ = nullptr;
  int64_t most_bytes_ = 0, plain_size_ = -1, packed_size_ = 0;  // packed: 0 of a pipe
  std::string peeked_;
};

// The whole file, unpacked when it is gzip; at most `cap` bytes of content, and of gzip at most most_unpacked().
std::string read_maybe_gzip(GzipReader& reader, int64_t cap = int64_t(1) << 36);
std::string read_maybe_gzip(const std::string& path, int64_t cap = int64_t(1) << 36);

// Unpacks `packed` (deflate without header) to exactly `size` bytes, or to its first `size` bytes when
// `prefix`; `name` starts the message of a data error.
std::string inflate_raw(std::string_view packed, size_t size, bool prefix, const std::string& name);

// The most bytes that `packed` bytes of deflate can become (a ratio of 1032, and the last block).
int64_t most_inflated(int64_t packed);

// `before`: the sum of the bytes before them.
uint32_t crc32_of(std::string_view bytes, uint32_t before = 0);

}  // namespace neon
