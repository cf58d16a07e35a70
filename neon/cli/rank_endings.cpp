#include "neon/cli/rank_endings.h"

#include <algorithm>

#include "neon/core/text.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

// The rank that failed first, or -1. One that only noticed the end of another is not it.
int first_failed(std::span<const RankEnding> ranks) {
  int out = -1;
  for (int k = 0; k < int(ranks.size()); ++k) {
    const RankEnding& own = ranks[size_t(k)];
    if (!has_failed(own) || own.code == kLostCode) continue;
    if (out < 0 || own.at < ranks[size_t(out)].at) out = k;
  }
  return out;
}

// Whether another process gives this cause, not the rank itself.
bool is_of_process(const std::string& cause) {
  return cause.starts_with("was ") || cause.starts_with("has ") || cause.starts_with("ended ");
}

// Whether it is a fault of the spec, say, that all ranks have, unless the end of another came first. A rank that waited
// for the others before the first step has done the same work without that fault; but on one host rank 0, which alone
// writes files, speaks for all until then.
bool is_of_all(std::span<const RankEnding> ranks, int failed, bool started) {
  const std::string& cause = ranks[size_t(failed)].cause;
  if (is_of_process(cause)) return false;
  const bool one_host = std::ranges::count(ranks, ranks[0].host, &RankEnding::host) == std::ptrdiff_t(ranks.size());
  int same = 0, others = 0, without = 0;
  for (const RankEnding& rank : ranks) {
    if (rank.ended && rank.cause == cause) ++same;
    else if (rank.code != kLostCode && rank.ended) ++others;
    else if (rank.ended) ++without;
  }
  return others == 0 && (same > 1 || (!started && (without == 0 || (failed == 0 && one_host))));
}

// Rank 0 knows best, where it has only noticed the end of another; as long as it can, it says so in its own cause.
std::string kept_after(std::span<const RankEnding> ranks, int failed, const std::string& kept) {
  if (ranks[0].code == kLostCode && !ranks[0].cause.empty()) return ranks[0].cause;
  return ranks[size_t(failed)].cause.find("checkpoint") == std::string::npos ? kept : "";
}

}  // namespace

int tell_endings(std::span<const RankEnding> ranks, bool started, const std::string& kept) {
  const int failed = first_failed(ranks);
  if (failed < 0) return 0;
  const RankEnding& first = ranks[size_t(failed)];
  const std::string& cause = first.cause;
  if (is_of_all(ranks, failed, started)) {
    for (size_t begin = 0; begin <= cause.size();) {
      const size_t end = std::min(cause.find('\n', begin), cause.size());
      print_message((begin ? "" : "neon: ") + cause.substr(begin, end - begin));
      begin = end + 1;
    }
    return first.code;
  }
  print_message(text("neon: rank ", failed, " of ", ranks.size(), " (", first.host, ", ", first.device, ")",
                     is_of_process(cause) ? " " : ": ", cause, kept_after(ranks, failed, kept)));
  return first.code;
}

}  // namespace neon
