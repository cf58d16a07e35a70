#include "datasets/gzip.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "datasets/file.h"
#include "neon/core/error.h"

namespace neon {

namespace {

constexpr size_t kPiece = size_t(1) << 30;  // zlib counts in unsigned int
// Limits of read_maybe_gzip(): bytes of a small file, the ratio of a larger one, bytes of a pipe.
constexpr int64_t kMostOfSmall = int64_t(256) << 20, kMostRatio = 100, kMostOfPipe = int64_t(1) << 30;

}  // namespace

int64_t most_inflated(int64_t packed) { return packed > (int64_t(1) << 50) ? int64_t(1) << 60 : packed * 1032 + 1032; }

int64_t ByteStream::skip(int64_t bytes) {
  char piece[65536];
  int64_t left = bytes;
  while (left > 0) {
    const size_t got = read(piece, size_t(std::min<int64_t>(left, int64_t(sizeof piece))));
    if (got == 0) break;
    left -= int64_t(got);
  }
  return bytes - left;
}

GzipReader::GzipReader(const std::string& path) : ByteStream(path) {
  const int64_t size = file_size(path);
  errno = 0;
  take(gzopen(path.c_str(), "rbe"));
  if (gzdirect(static_cast<gzFile>(file_))) most_bytes_ = plain_size_ = size;
  else most_bytes_ = most_inflated(size), packed_size_ = size;
}

GzipReader::GzipReader(int descriptor, const std::string& name)
    : ByteStream(name), most_bytes_(std::numeric_limits<int64_t>::max()) {
  errno = 0;
  const int own = dup(descriptor);  // it is closed with the stream
  gzFile file = own < 0 ? nullptr : gzdopen(own, "rbe");
  if (!file && own >= 0) close(own);
  take(file);
}

void GzipReader::take(void* file) {
  if (!file) fail(ErrorKind::data, path_, ": ", std::strerror(errno ? errno : ENOMEM));
  file_ = file;
  gzbuffer(static_cast<gzFile>(file), 1 << 17);
}

GzipReader::~GzipReader() { gzclose_r(static_cast<gzFile>(file_)); }

std::string_view GzipReader::peek(size_t size) {
  if (peeked_.size() < size) {
    std::string more(size - peeked_.size(), '\0');
    more.resize(read_file(more.data(), more.size()));
    peeked_ += more;
  }
  return std::string_view(peeked_).substr(0, size);
}

int64_t GzipReader::most_unpacked() const {
  if (gzdirect(static_cast<gzFile>(file_))) return -1;
  return packed_size_ > 0 ? std::max(kMostOfSmall, kMostRatio * packed_size_) : kMostOfPipe;
}

size_t GzipReader::read(void* to, size_t size) {
  const size_t again = std::min(size, peeked_.size());
  if (again == 0) return read_file(to, size);
  std::memcpy(to, peeked_.data(), again);
  peeked_.erase(0, again);
  return again + read_file(static_cast<char*>(to) + again, size - again);
}

size_t GzipReader::read_file(void* to, size_t size) {
  auto* file = static_cast<gzFile>(file_);
  size_t done = 0;
  while (done < size) {
    const int got = gzread(file, static_cast<char*>(to) + done, unsigned(std::min(size - done, kPiece)));
    if (got > 0) done += size_t(got);
    int code = Z_OK;
    const char* message = gzerror(file, &code);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END)) {
      if (code == Z_BUF_ERROR)
        fail(ErrorKind::data, path_,
             ": truncated: the gzip stream breaks off (an interrupted download?); fetch it again");
      if (code == Z_ERRNO) fail(ErrorKind::data, path_, ": ", std::strerror(errno));
      fail(ErrorKind::data, path_, ": corrupt gzip stream: ", message, "; fetch it again");
    }
    if (got == 0) break;
  }
  return done;
}

std::string read_maybe_gzip(const std::string& path, int64_t cap) {
  GzipReader reader(path);
  return read_maybe_gzip(reader, cap);
}

std::string read_maybe_gzip(GzipReader& reader, int64_t cap) {
  std::string out;
  for (size_t step = 1 << 16;; step = std::min(step * 2, size_t(1) << 26)) {
    const size_t before = out.size();
    out.resize(before + step);
    const size_t got = reader.read(out.data() + before, step);
    out.resize(before + got);
    if (int64_t(out.size()) > cap)
      fail(ErrorKind::data, reader.path(), ": holds more than the ", bytes_text(double(cap)),
           " that such a file may have");
    if (const int64_t most = reader.most_unpacked(); most >= 0 && int64_t(out.size()) > most)
      fail(ErrorKind::data, reader.path(), ": unpacks to more than ", bytes_text(double(most)),
           ", the most that is unpacked in memory; if it is no decompression bomb, unpack it with gunzip first");
    if (got < step) return out;
  }
}

std::string inflate_raw(std::string_view packed, size_t size, bool prefix, const std::string& name) {
  std::string out(size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) fail(ErrorKind::memory, name, ": no memory to unpack it");
  struct End {
    z_stream* stream;
    ~End() { inflateEnd(stream); }
  } end{&stream};
  size_t in = 0, done = 0;
  int code = Z_OK;
  char beyond;  // room for one byte more than expected, to see that nothing follows
  while (code == Z_OK && !(prefix && done == size)) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data())) + in;
    stream.avail_in = uInt(std::min(packed.size() - in, kPiece));
    const bool full = done == size;
    stream.next_out = reinterpret_cast<Bytef*>(full ? &beyond : out.data() + done);
    stream.avail_out = uInt(full ? 1 : std::min(size - done, kPiece));
    const uInt in_before = stream.avail_in, out_before = stream.avail_out;
    code = inflate(&stream, Z_NO_FLUSH);
    in += in_before - stream.avail_in;
    done += out_before - stream.avail_out;
    if (done > size) fail(ErrorKind::data, name, ": corrupt: unpacks to more than the ", size, " bytes it declares");
  }
  if (prefix && done == size) return out;
  if (code != Z_STREAM_END || done != size)
    fail(ErrorKind::data, name, ": corrupt: unpacks to ", done, " of the ", size, " bytes it declares");
  return out;
}

uint32_t crc32_of(std::string_view bytes, uint32_t before) {
  return uint32_t(crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace neon
