// An error in one line: what is wrong, where, what was expected, the nearest name, how to mend it.
#pragma once
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include "neon/core/text.h"

namespace neon {

// The kind decides the exit code of the program; see exit_code().
enum class ErrorKind { failed, config, data, memory, diverged, device };

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// 0 is success; 130 and 143 are left to signals.
int exit_code(ErrorKind kind);

template <typename... Parts>
[[noreturn]] void fail(ErrorKind kind, const Parts&... parts) {
  throw Error(kind, text(parts...));
}

// The reason that an exception gives, in our words: an Error's message, too little memory, the system's text about a
// file or a thread. Any other is a library's, whose text means nothing to a user: `otherwise` takes its place.
std::string reason_of(const std::exception& error, const std::string& otherwise);

// A condition that no input of a user can break; the message names it for a bug report.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

#define NEON_ASSERT(condition) ((condition) ? void() : ::neon::assertion_failed(#condition, __FILE__, __LINE__))

}  // namespace neon
