// Asks the cache for memory that a loop reads soon. Always inline: objects of all levels include it.
#pragma once
#include <stdint.h>

namespace neon::elementwise {

// Asks for what a loop reads 2 KiB after the n numbers at `from`. A processor's own prefetching does not follow loads
// under a mask, and compilers load under a rectifier's mask the gradient that it lets through. On Zen 5 such a loop
// over 154 MB took 16 ms, and 4 ms with this.
template <typename R>
[[gnu::always_inline]] inline void ask_for(const R* from, int64_t n) {
  constexpr int64_t kAhead = 2048 / int64_t(sizeof(R)), kLine = 64 / int64_t(sizeof(R));
  for (int64_t i = 0; i < n; i += kLine) __builtin_prefetch(from + kAhead + i);
}

}  // namespace neon::elementwise
