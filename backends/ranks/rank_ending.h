// How a rank ends, as the others and whoever watches over them hear of it.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <string>

#include "neon/core/error.h"

namespace neon {

// The exit code of a rank that ends because another has ended.
constexpr int kLostCode = 99;

// Seconds that a rank may keep the others waiting before the first step, while it reads the data, perhaps from a slow
// disk; and while it does what the others have no part in, as to save. The environment may give other numbers.
constexpr const char *kStartVariable = "NEON_START_SECONDS", *kAloneVariable = "NEON_ALONE_SECONDS";
inline double patience_of(const char* variable, double otherwise) {
  const char* const given = std::getenv(variable);
  if (!given) return otherwise;
  char* end = nullptr;
  const double seconds = std::strtod(given, &end);
  if (end == given || *end || !(seconds > 0))
    fail(ErrorKind::config, variable, " is '", given, "', expected seconds above 0, as ", otherwise);
  return seconds;
}
inline double start_patience() { return patience_of(kStartVariable, 600); }
inline double alone_patience() { return patience_of(kAloneVariable, 3600); }

struct RankEnding {
  bool ended = false;  // false: it has not said how it ends
  int code = 0;        // its exit code
  std::string cause;   // why it ended; "" where it was done
  std::string host, device;
  int64_t at = 0;  // in the order in which ranks ended
};

// Whether it ended by a fault: neither done, nor stopped by a signal.
inline bool has_failed(const RankEnding& ending) { return ending.ended && ending.code != 0 && ending.code <= 128; }

}  // namespace neon
