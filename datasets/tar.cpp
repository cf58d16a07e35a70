#include "datasets/tar.h"

#include <algorithm>
#include <string_view>

#include "datasets/file.h"
#include "neon/core/error.h"

namespace neon {

namespace {

constexpr int64_t kBlock = 512;
constexpr int64_t kMostText = int64_t(1) << 20;  // of a long name or a pax header
constexpr int64_t kMostSize = int64_t(1) << 50;

// Places of a header's fields.
constexpr size_t kSize = 124, kSum = 148, kType = 156, kMagic = 257, kPrefix = 345;

std::string_view text_field(const char* header, size_t first, size_t size) {
  std::string_view field(header + first, size);
  return field.substr(0, field.find('\0'));
}

// Octal digits, or, with the first bit set, a number of 256s. -1: neither.
int64_t number_field(const char* header, size_t first, size_t size) {
  const std::string_view field(header + first, size);
  int64_t value = 0;
  if (uint8_t(field[0]) & 0x80) {
    for (size_t i = 0; i < field.size(); ++i) {
      if (value >= kMostSize / 256) return -1;
      value = value * 256 + (i ? uint8_t(field[i]) : uint8_t(field[0]) & 0x7f);
    }
    return value;
  }
  size_t i = std::min(field.find_first_not_of(' '), field.size());
  for (; i < field.size() && field[i] >= '0' && field[i] <= '7'; ++i) {
    if (value >= kMostSize / 8) return -1;
    value = value * 8 + (field[i] - '0');
  }
  return i == field.size() || field[i] == ' ' || field[i] == '\0' ? value : -1;
}

// The sum of all bytes, those of the sum itself taken as spaces; some writers took them as signed.
bool has_right_sum(const char* header) {
  int64_t sum = 0, of_signed = 0;
  for (size_t i = 0; i < size_t(kBlock); ++i) {
    const char c = i >= kSum && i < kSum + 8 ? ' ' : header[i];
    sum += uint8_t(c);
    of_signed += static_cast<signed char>(c);
  }
  const int64_t wanted = number_field(header, kSum, 8);
  return wanted == sum || wanted == of_signed;
}

bool climbs_out(std::string_view name) {
  if (name.starts_with('/')) return true;
  while (!name.empty()) {
    const size_t slash = std::min(name.find('/'), name.size());
    if (name.substr(0, slash) == "..") return true;
    name.remove_prefix(std::min(slash + 1, name.size()));
  }
  return false;
}

}  // namespace

TarReader::TarReader(const std::string& path) : TarReader(std::make_unique<GzipReader>(path)) {}
TarReader::TarReader(std::unique_ptr<ByteStream> bytes) : bytes_(std::move(bytes)) {}

void TarReader::corrupt(const std::string& what) const {
  fail(ErrorKind::data, bytes_->path(), ": no tar archive, or a damaged one: ", what, " before byte ", at_);
}

namespace {

bool is_empty(const char* block) {
  return std::all_of(block, block + kBlock, [](char c) { return c == 0; });
}

}  // namespace

// False at the end of the bytes.
bool TarReader::read_block(char* block) {
  const size_t got = bytes_->read(block, size_t(kBlock));
  if (got == 0 && at_ > 0) return false;
  if (got < size_t(kBlock)) {
    const std::string_view head(block, got);
    if (at_ == 0) fail(ErrorKind::data, bytes_->path(), ": too short for a tar archive", looks_like_clause(head));
    fail(ErrorKind::data, bytes_->path(), ": truncated: ends within a header at byte ", at_, "; fetch it again");
  }
  const bool marked = std::string_view(block + kMagic, 5) == "ustar";  // else next() says that it is damaged
  if (at_ == 0 && !marked && !is_empty(block) && !has_right_sum(block))
    fail(ErrorKind::data, bytes_->path(), ": expected a tar archive", looks_like_clause({block, size_t(kBlock)}));
  at_ += kBlock;
  return true;
}

void TarReader::skip(int64_t bytes) {
  const int64_t got = bytes_->skip(bytes);
  at_ += got;
  if (got < bytes) fail(ErrorKind::data, where(), ": truncated: the archive ends within this file; fetch it again");
}

// Reads the text of a long-name or pax header, and skips its padding.
std::string TarReader::read_text(int64_t size) {
  if (size > kMostText) corrupt(text("a header of ", size, " bytes"));
  std::string out(size_t(size), '\0');
  if (bytes_->read(out.data(), out.size()) != out.size()) corrupt("truncated header");
  at_ += size;
  skip((kBlock - size % kBlock) % kBlock);
  return out;
}

// Records "LENGTH KEY=VALUE\n", of which path and size are taken.
void TarReader::take_pax(const std::string& records) {
  for (size_t first = 0; first < records.size() && records[first] != '\0';) {
    const size_t space = records.find(' ', first);
    size_t length = 0;
    for (size_t i = first; i < std::min(space, records.size()) && length <= records.size(); ++i)
      length = records[i] >= '0' && records[i] <= '9' ? length * 10 + size_t(records[i] - '0') : records.size() + 1;
    if (space == records.npos || length > records.size() - first || first + length < space + 2 ||
        records[first + length - 1] != '\n')
      corrupt("a pax header that does not follow its form");
    const std::string_view record(&records[space + 1], first + length - space - 2);
    const size_t equals = std::min(record.find('='), record.size());
    const std::string_view key = record.substr(0, equals), value = record.substr(std::min(equals + 1, record.size()));
    if (key == "path" && !sparse_) long_name_ = value;
    if (key == "GNU.sparse.name") long_name_ = value;
    if (key.starts_with("GNU.sparse.")) sparse_ = true;
    if (key == "size") {
      long_size_ = 0;
      for (char c : value) {
        if (c < '0' || c > '9' || long_size_ > kMostSize / 10) corrupt("a pax header whose size is no number");
        long_size_ = long_size_ * 10 + (c - '0');
      }
    }
    first += length;
  }
}

// Only zeros follow the block of zeros that ends an archive: those that fill up a record, which tar makes of at most
// some MiB. More of them (a hole of the file, or zeros that gzip packed) are not read to their end.
void TarReader::check_end() {
  constexpr int64_t kMostPadding = int64_t(64) << 20;
  std::string piece(size_t(1) << 16, '\0');
  const int64_t end = at_;
  int64_t padding = 0;
  while (const size_t got = bytes_->read(piece.data(), piece.size())) {
    padding += int64_t(got);
    if (padding > kMostPadding)
      fail(ErrorKind::data, bytes_->path(), ": more than ", bytes_text(double(kMostPadding)),
           " of zeros follow the archive's end at byte ", end, "; cut the file off there");
    if (std::any_of(piece.data(), piece.data() + got, [](char c) { return c != 0; }))
      fail(ErrorKind::data, bytes_->path(), ": more follows after the archive's end at byte ", end,
           "; archives that were put in a row are read up to there only, so unpack them into one");
  }
}

void TarReader::forget_headers() {
  long_name_.clear();
  long_size_ = -1;
  sparse_ = false;
}

bool TarReader::take_special(char type, int64_t size) {
  if (type == 'L') {
    long_name_ = read_text(size);
    long_name_.resize(std::min(long_name_.find('\0'), long_name_.size()));
  } else if (type == 'V' || type == 'D') {
    // A label of the volume; the names in a folder, of a dump of changes (--listed-incremental).
    skip((size + kBlock - 1) / kBlock * kBlock);
    forget_headers();
  } else if (type == 'x') {
    take_pax(read_text(size));
  } else if (type == 'g' || type == 'K') {  // for the whole archive; the target of a link
    read_text(size);
  } else {
    return false;
  }
  return true;
}

void TarReader::take_name(const char* header) {
  name_ = text_field(header, 0, 100);
  const std::string_view prefix = text_field(header, kPrefix, 155);
  if (std::string_view(header + kMagic, 6) == std::string_view("ustar\0", 6) && !prefix.empty())
    name_ = text(prefix, "/", name_);
  if (!long_name_.empty()) name_ = std::move(long_name_);
  while (name_.starts_with("./")) name_.erase(0, 2);
  if (name_.find('\0') != name_.npos) corrupt("a name with a zero byte");
  if (climbs_out(name_))
    fail(ErrorKind::data, where(),
         ": this name could lead out of the archive, as it is absolute or has a '..'; make it anew");
}

void TarReader::refuse_others_than_files(char type, bool sparse) const {
  if (sparse) fail(ErrorKind::data, where(), ": is a sparse file; make the archive without --sparse");
  if (type == 'M')
    fail(ErrorKind::data, where(), ": began in another volume; make one archive, without --multi-volume");
  if (type != '0' && type != '\0' && type != '7')
    fail(ErrorKind::data, where(), ": is no file (a link or a device, type '", std::string(1, type),
         "'); make the archive with --dereference --hard-dereference");
}

bool TarReader::next() {
  skip(left_);
  left_ = 0;
  char header[kBlock];
  while (!ended_) {
    if (!read_block(header))
      fail(ErrorKind::data, bytes_->path(), ": ends at byte ", at_,
           " without the zeros that end an archive, as one that was cut short; fetch or make it again");
    if (is_empty(header)) {
      ended_ = true;
      check_end();
      break;
    }
    if (!has_right_sum(header)) corrupt("a header with a wrong sum");
    const int64_t size = number_field(header, kSize, 12);
    if (size < 0) corrupt("a header whose size is no number");
    const char type = header[kType];
    if (take_special(type, size)) continue;
    size_ = long_size_ >= 0 ? long_size_ : size;
    const bool sparse = sparse_ || type == 'S';
    take_name(header);
    forget_headers();
    if (type == '5' || (name_.ends_with('/') && size_ == 0)) continue;
    refuse_others_than_files(type, sparse);
    left_ = (size_ + kBlock - 1) / kBlock * kBlock;
    return true;
  }
  return false;
}

std::string TarReader::content(int64_t cap) {
  const int64_t padding = (kBlock - size_ % kBlock) % kBlock;
  NEON_ASSERT(left_ == size_ + padding);
  if (size_ > cap)
    fail(ErrorKind::data, where(), ": ", bytes_text(double(size_)), " are more than the ", bytes_text(double(cap)),
         " that such a file may have");
  std::string out;
  // By pieces: a header may claim bytes that are not there.
  while (int64_t(out.size()) < size_) {
    const size_t before = out.size(), step = size_t(std::min<int64_t>(size_ - int64_t(before), 1 << 24));
    out.resize(before + step);
    if (bytes_->read(out.data() + before, step) != step)
      fail(ErrorKind::data, where(), ": truncated: the archive ends within this file; fetch it again");
    at_ += int64_t(step);
  }
  left_ = padding;
  return out;
}

bool is_tar_name(const std::string& path) {
  for (const char* ending : {".tar", ".tar.gz", ".tgz"})
    if (path.ends_with(ending)) return true;
  return false;
}

}  // namespace neon
