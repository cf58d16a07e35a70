#include "datasets/zip.h"

#include <algorithm>
#include <cstring>

#include "datasets/gzip.h"
#include "neon/core/error.h"

namespace neon {

namespace {

// A piece of the archive, read as little-endian numbers; every access is checked.
class Piece {
 public:
  Piece(const ByteSource& source, int64_t offset, int64_t size, const char* what) : source_(source), what_(what) {
    if (offset < 0 || size < 0 || offset > source.size() || size > source.size() - offset) bad();
    bytes_.resize(size_t(size));
    source.read_at(offset, bytes_.data(), bytes_.size());
  }
  uint64_t number(size_t at, size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) bad();
    uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + at, size);
    return value;
  }
  std::string_view text(size_t at, size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) bad();
    return std::string_view(bytes_).substr(at, size);
  }
  size_t size() const { return bytes_.size(); }
  [[noreturn]] void bad() const {
    fail(ErrorKind::data, source_.name(), ": corrupt zip archive: its ", what_, " points outside the file");
  }

 private:
  const ByteSource& source_;
  const char* what_;
  std::string bytes_;
};

struct Directory {
  int64_t offset, size, count;
};

constexpr int64_t kMaxMembers = 1 << 20;

Directory find_directory(const ByteSource& source) {
  const int64_t tail_size = std::min<int64_t>(source.size(), 65557);  // the end record and the longest comment
  const int64_t tail_at = source.size() - tail_size;
  const Piece tail(source, tail_at, tail_size, "end record");
  int64_t end = tail_size - 22;
  while (end >= 0 && tail.number(size_t(end), 4) != 0x06054b50) --end;
  if (end < 0) {
    std::string head(size_t(std::min<int64_t>(source.size(), 300)), '\0');
    source.read_at(0, head.data(), head.size());
    if (head.starts_with("PK"))
      fail(ErrorKind::data, source.name(), ": truncated zip archive: its directory, at the end, is missing");
    fail(ErrorKind::data, source.name(), ": not a zip archive", looks_like_clause(head));
  }
  const auto at = size_t(end);
  Directory out{int64_t(tail.number(at + 16, 4)), int64_t(tail.number(at + 12, 4)), int64_t(tail.number(at + 10, 2))};
  if (out.offset == 0xffffffff || out.size == 0xffffffff || out.count == 0xffff) {
    const Piece locator(source, tail_at + end - 20, 20, "zip64 locator");
    if (locator.number(0, 4) == 0x07064b50) {
      const Piece record(source, int64_t(locator.number(8, 8)), 56, "zip64 record");
      if (record.number(0, 4) != 0x06064b50) record.bad();
      out = {int64_t(record.number(48, 8)), int64_t(record.number(40, 8)), int64_t(record.number(32, 8))};
    }
  }
  if (out.count < 0 || out.count > kMaxMembers)
    fail(ErrorKind::data, source.name(), ": corrupt zip archive: it claims ", out.count, " members");
  return out;
}

// Fields of 32 bits that are all ones stand in the extra field instead, in this order.
void read_zip64(const Piece& directory, size_t extra, size_t extra_size, ZipArchive::Member& member) {
  for (size_t at = extra; at + 4 <= extra + extra_size;) {
    const size_t id = directory.number(at, 2), size = directory.number(at + 2, 2);
    at += 4;
    if (id == 1) {
      size_t field = at;
      for (int64_t* value : {&member.size, &member.packed, &member.header})
        if (*value == 0xffffffff && field + 8 <= at + size) {
          *value = int64_t(directory.number(field, 8));
          field += 8;
        }
    }
    at += size;
  }
}

}  // namespace

ZipArchive::ZipArchive(const ByteSource& source) : source_(source) {
  const Directory where = find_directory(source);
  const Piece directory(source, where.offset, where.size, "directory");
  size_t at = 0;
  for (int64_t i = 0; i < where.count; ++i) {
    if (directory.number(at, 4) != 0x02014b50) directory.bad();
    Member member;
    member.method = int(directory.number(at + 10, 2));
    member.crc = uint32_t(directory.number(at + 16, 4));
    member.packed = int64_t(directory.number(at + 20, 4));
    member.size = int64_t(directory.number(at + 24, 4));
    member.header = int64_t(directory.number(at + 42, 4));
    const size_t name = directory.number(at + 28, 2), extra = directory.number(at + 30, 2),
                 comment = directory.number(at + 32, 2);
    member.name = directory.text(at + 46, name);
    read_zip64(directory, at + 46 + name, extra, member);
    at += 46 + name + extra + comment;
    if (directory.number(at - (46 + name + extra + comment) + 8, 2) & 1)
      fail(ErrorKind::data, source.name(), ": member '", member.name, "' is encrypted, which is not read");
    if (member.packed < 0 || member.size < 0 || member.packed > source.size() ||
        member.size > (member.method == 0 ? member.packed : most_inflated(member.packed)))
      fail(ErrorKind::data, source.name(), ": corrupt zip archive: member '", member.name, "' declares ", member.size,
           " bytes, more than its ", member.packed, " packed bytes can hold");
    if (!by_name_.emplace(member.name, members_.size()).second)
      fail(ErrorKind::data, source.name(), ": corrupt zip archive: two members are named '", member.name, "'");
    members_.push_back(std::move(member));
  }
}

const ZipArchive::Member* ZipArchive::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &members_[found->second];
}

int64_t ZipArchive::payload_offset(const Member& member) const {
  const Piece local(source_, member.header, 30, "directory");
  if (local.number(0, 4) != 0x04034b50) local.bad();
  const int64_t at = member.header + 30 + int64_t(local.number(26, 2)) + int64_t(local.number(28, 2));
  if (at > source_.size() || member.packed > source_.size() - at) local.bad();
  return at;
}

std::string ZipArchive::unpack(const Member& member, int64_t size) const {
  const std::string name = source_.name() + ": member '" + member.name + "'";
  if (member.method != 0 && member.method != 8)
    fail(ErrorKind::data, name, " is compressed by method ", member.method,
         ": only stored and deflated members are read");
  const bool prefix = size < member.size;
  // A prefix needs no more packed bytes than it has itself, and a block's table.
  const int64_t packed_size = prefix ? std::min(member.packed, size + 4096) : member.packed;
  std::string packed(size_t(member.method == 0 ? size : packed_size), '\0');
  source_.read_at(payload_offset(member), packed.data(), packed.size());
  return member.method == 0 ? packed : inflate_raw(packed, size_t(size), prefix, name);
}

void ZipArchive::check_sum(const Member& member, uint32_t found) const {
  if (found != member.crc)
    fail(ErrorKind::data, source_.name(), ": member '", member.name, "' is corrupt: its CRC-32 does not match");
}

std::string ZipArchive::read(const Member& member) const {
  std::string out = unpack(member, member.size);
  check_sum(member, crc32_of(out));
  return out;
}

// A piece is summed while it lies in the processor's cache.
void ZipArchive::read_stored(const Member& member, std::span<char> first, std::span<char> others) const {
  constexpr size_t kPiece = size_t(1) << 18;
  NEON_ASSERT(member.method == 0 && int64_t(first.size() + others.size()) == member.size);
  int64_t from = payload_offset(member);
  uint32_t sum = 0;
  for (std::span<char> rest : {first, others})
    while (!rest.empty()) {
      const std::span<char> piece = rest.first(std::min(rest.size(), kPiece));
      source_.read_at(from, piece.data(), piece.size());
      sum = crc32_of({piece.data(), piece.size()}, sum);
      from += int64_t(piece.size());
      rest = rest.subspan(piece.size());
    }
  check_sum(member, sum);
}

std::string ZipArchive::read_prefix(const Member& member, int64_t size) const {
  return unpack(member, std::min(size, member.size));
}

}  // namespace neon
