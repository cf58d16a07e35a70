// The pieces of a text inside which byte pairs are merged, by the rules of GPT-2.
#pragma once
#include <string_view>

namespace neon {

// Pieces follow one another and have all bytes of the text. A piece is, the first that fits:
//   's 't 're 've 'm 'll 'd       endings of English words
//   letters, numbers, or others   a run of one kind, with a space before it where there is one
//   white space                   a run; behind it something stands, its last one belongs to that or stands alone
// Kinds are Unicode's. A byte that is not UTF-8 is of the others.
class BpeSplit {
 public:
  explicit BpeSplit(std::string_view text) : text_(text) {}
  // False at the end.
  bool next(std::string_view& piece);

 private:
  enum class Kind { space, letter, number, other };
  struct Character {
    Kind kind = Kind::other;
    size_t bytes = 0;  // 0: the text has ended
  };
  Character at(size_t place) const;
  size_t end_of_run(size_t from, Kind kind, size_t* last) const;
  size_t length() const;

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace neon
