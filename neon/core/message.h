// Messages as they are shown: texts from outside never command a terminal, make lines of their own or fill a screen.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "neon/core/error.h"

namespace neon {

// A message as one safe line: printable, and words longer than kMostOfWord bytes (a path, say) and lines longer than
// kMostOfLine lose their middle. The end stays: it says how to mend the fault.
constexpr size_t kMostOfWord = 240, kMostOfLine = 1200;
std::string message_line(std::string_view message);

// "a, b, c and 597 more": at most `most` names for a message, each cut after 90 bytes.
std::string list_text(const std::vector<std::string>& names, std::string_view separator = ", ", size_t most = 12);

// Everything wrong with a spec or a command line: a line for each fault. what() has them one below the other. Any other
// Error is one line, even where its text has line ends.
class Faults : public Error {
 public:
  explicit Faults(std::vector<std::string> lines);
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

}  // namespace neon
