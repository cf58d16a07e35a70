// How a rank ends, as the others and whoever watches over them hear of it.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <string>

#include "neon/core/error.h"

namespace neon {

// The exit code of a rank that ends because another has ended.
constexpr int kLostCode = 99;

// Seconds that a rank may keep the others waiting before the first step: it reads the data, perhaps from a slow disk.
// The environment may give another number.
constexpr const char* kStartVariable = "NEON_START_SECONDS";
inline double start_patience() {
  const char* const given = std::getenv(kStartVariable);
  if (!given) return 600;
  char* end = nullptr;
  const double seconds = std::strtod(given, &end);
  if (end == given || *end || !(seconds > 0))
    fail(ErrorKind::config, kStartVariable, " is '", given, "', expected seconds above 0, as 600");
  return seconds;
}

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
