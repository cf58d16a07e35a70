// How a rank ends, as the others and whoever watches over them hear of it.
#pragma once
#include <cstdint>
#include <string>

namespace neon {

// The exit code of a rank that ends because another has ended.
constexpr int kLostCode = 99;

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
