// A part of a file, or of memory, as bytes that come one after the other; what is passed over is not read.
#pragma once
#include <algorithm>

#include "datasets/file.h"
#include "datasets/gzip.h"

namespace neon {

class SourceStream : public ByteStream {
 public:
  // `source` is borrowed; the part lies in it. `path` is for messages.
  SourceStream(const ByteSource& source, int64_t begin, int64_t bytes, std::string path)
      : ByteStream(std::move(path)), source_(source), at_(begin), end_(begin + bytes) {}
  size_t read(void* to, size_t size) override {
    const auto got = size_t(std::min<int64_t>(int64_t(size), end_ - at_));
    source_.read_at(at_, to, got);
    at_ += int64_t(got);
    return got;
  }
  int64_t skip(int64_t bytes) override {
    const int64_t got = std::min(bytes, end_ - at_);
    at_ += got;
    return got;
  }

 private:
  const ByteSource& source_;
  int64_t at_, end_;
};

}  // namespace neon
