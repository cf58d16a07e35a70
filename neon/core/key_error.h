// Errors about one key of a spec.
#pragma once
#include "neon/core/error.h"

namespace neon {

// A config error that knows the top-level key of the spec that it is about. what() begins with the key; whoever knows
// the spec adds where the key stands (Experiment::placing).
class KeyError : public Error {
 public:
  KeyError(std::string key, const std::string& message)
      : Error(ErrorKind::config, text(key, ": ", message)), key_(std::move(key)) {}
  const std::string& key() const { return key_; }

 private:
  std::string key_;
};

template <typename... Parts>
[[noreturn]] void fail_about(const char* key, const Parts&... parts) {
  throw KeyError(key, text(parts...));
}

}  // namespace neon
