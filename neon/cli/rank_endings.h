// Tells people of ranks that have failed, in one line that names the first of them and the cause.
#pragma once
#include <span>

#include "backends/ranks/rank_ending.h"

namespace neon {

// Prints one message where a rank has failed, without its name where all have the same fault, as of the spec. Returns
// the exit code of that rank; 0 where none has failed. `started`: the ranks had met. `kept`: what rank 0 has said last
// is left of the run.
int tell_endings(std::span<const RankEnding> ranks, bool started, const std::string& kept);

}  // namespace neon
