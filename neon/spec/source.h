// The text of a file, checked to be text, and the places in it.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "neon/core/setting.h"

namespace neon {

class Source {
 public:
  // Line ends become \n, a byte order mark goes. Throws when the text is longer than `limit` bytes, not UTF-8,
  // or holds a control character (one of them would end the text for the parser below us, unseen).
  Source(std::string_view text, const std::string& name, size_t limit);

  const std::string& text() const { return text_; }
  // Lines and columns count from 0 and in bytes here; a Location's from 1 and in characters.
  Location at(int line, int column) const;
  size_t offset(int line, int column) const;
  std::string_view line(int line) const;  // without its end
  Location whole() const { return {name_, 0, 0}; }

 private:
  Location at_offset(size_t offset) const;
  void check_characters();
  [[noreturn]] void fail_at_byte(size_t at, const std::string& what) const;

  std::string text_;
  std::shared_ptr<const std::string> name_;
  std::vector<size_t> line_starts_;
  std::vector<size_t> continuations_;  // bytes that continue a character, in order
};

// The bytes of a file; throws a config error when it cannot be read or holds more than `limit` bytes.
std::string read_text_file(const std::string& path, size_t limit);

}  // namespace neon
