// A part of a text file, in pieces that stay in a processor's cache. A large file is never in memory as a whole, so
// that no time goes into fresh memory for it.
#pragma once
#include <string>
#include <string_view>

#include "datasets/text_file.h"

namespace neon {

// Lines that are not blank (nothing but spaces), and whether a quote stands anywhere.
struct LineCount {
  int64_t lines = 0;
  bool quotes = false;
};
LineCount count_lines(std::string_view text);

// Lines of a table that end outside of quoted cells, and are not empty. 0 where quotes stand within cells, so that they
// do not say where a quoted cell begins.
int64_t count_whole_lines(std::string_view text);

class LinePieces {
 public:
  // The bytes [begin, end) of the file, in which a line begins at `begin`. A file in memory is one piece. `quoted`:
  // cells may be quoted, and a line that ends within one goes on.
  LinePieces(const TextFile& file, size_t begin, size_t end, bool quoted = false);
  // Goes to the next piece, which ends where a line does; false at the end.
  bool next();

  // The piece is the bytes [from(), to()) of text(). Byte `at` of text() is byte `at + shift()` of the file.
  std::string_view text() const { return text_; }
  size_t from() const { return from_; }
  size_t to() const { return to_; }
  size_t shift() const { return begin_ - from_; }
  std::string_view lines() const { return text_.substr(from_, to_ - from_); }

 private:
  size_t end_of_lines(bool quoted) const;

  const TextFile& file_;
  size_t begin_, end_;  // of the piece, in the file; of the part
  const bool quoted_;
  std::string room_;
  std::string_view text_;
  size_t from_ = 0, to_ = 0;
};

}  // namespace neon
