// Shards: files of many samples, each an image as it was (JPEG, PNG) or its pixels, with a table at the end:
//   contents, one after the other
//   table     a row a sample: u64 place, u32 bytes, u32 CRC-32, i32 label, u32 0
//   trailer   u64 place of the table, u64 samples, u32 CRC-32 of the table, u32 version (1), "NEONSHRD"
// Numbers are little-endian.
#pragma once
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/file.h"

namespace neon {

class Shard {
 public:
  // Reads the table, and throws a data error where file and table do not go together.
  explicit Shard(std::unique_ptr<ByteSource> bytes);
  int64_t size() const { return int64_t(rows_.size()); }
  int32_t label(int64_t sample) const { return rows_[size_t(sample)].label; }
  // By any thread; a data error where the bytes are not those that were written.
  std::string content(int64_t sample) const;
  // The same into memory of content_bytes().
  void read(int64_t sample, void* to) const;
  int64_t content_bytes(int64_t sample) const { return rows_[size_t(sample)].bytes; }
  // CRC-32 of the content, as the table says; read() holds the content to it.
  uint32_t checksum(int64_t sample) const { return rows_[size_t(sample)].sum; }
  // "FILE: sample 3", for messages.
  std::string where(int64_t sample) const;
  const std::string& name() const { return bytes_->name(); }

 private:
  struct Row {
    uint64_t place;
    uint32_t bytes, sum;
    int32_t label;
    uint32_t zero;
  };
  std::unique_ptr<ByteSource> bytes_;
  std::vector<Row> rows_;
};

// Writes PATH.part, which becomes PATH when keep() is called; what is not kept is removed.
class ShardWriter {
 public:
  explicit ShardWriter(const std::string& path);
  ~ShardWriter();
  ShardWriter(ShardWriter&& other) noexcept;
  void add(std::string_view content, int32_t label);
  // On disk, table and all. Without this call the file is no shard.
  void finish();
  // After finish().
  void keep();
  // Removes what a writer left that was ended by force; a data error where one is at work.
  static void remove_unfinished(const std::string& part);
  int64_t samples() const { return samples_; }
  int64_t bytes() const { return int64_t(place_); }
  const std::string& path() const { return path_; }
  // Where it is until then.
  std::string part() const { return path_ + kEnding; }
  static constexpr const char* kEnding = ".part";

 private:
  void write(std::string_view bytes);
  std::string path_, table_;
  std::FILE* file_;
  bool kept_ = false;
  uint64_t place_ = 0;
  int64_t samples_ = 0;
};

}  // namespace neon
