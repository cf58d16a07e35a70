// Members of a zip archive (an .npz is one), read in memory: stored or deflated, zip64 too. Nothing is
// written to disk, so a member's name cannot do harm. Failures are data errors that name the file.
#pragma once
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "datasets/file.h"

namespace neon {

class ZipArchive {
 public:
  struct Member {
    std::string name;
    int method = 0;                            // 0 stored, 8 deflated
    int64_t packed = 0, size = 0, header = 0;  // bytes; where its local header is
    uint32_t crc = 0;
  };

  // Reads the directory; `source` must outlive this.
  explicit ZipArchive(const ByteSource& source);
  const std::vector<Member>& members() const { return members_; }
  const Member* find(const std::string& name) const;
  // The member's content, its sum checked.
  std::string read(const Member& member) const;
  // The same of a stored member, as its first bytes and all others.
  void read_stored(const Member& member, std::span<char> first, std::span<char> others) const;
  // Its first bytes, at most `size` of them; the sum is not checked.
  std::string read_prefix(const Member& member, int64_t size) const;

 private:
  int64_t payload_offset(const Member& member) const;
  std::string unpack(const Member& member, int64_t size) const;
  void check_sum(const Member& member, uint32_t found) const;
  const ByteSource& source_;
  std::vector<Member> members_;
  std::unordered_map<std::string, size_t> by_name_;
};

}  // namespace neon
