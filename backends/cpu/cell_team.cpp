#include "backends/cpu/cell_team.h"

#include <algorithm>
#include <thread>

#include "backends/cpu/kernel.h"

namespace neon::cpu {

namespace {

constexpr int64_t kKeptBytes = 1 << 20;  // of weights, in a cache of a thread's own
constexpr int64_t kEnoughSamples = 64;   // for each time that a thread reads its weights

// Into how many parts a team of so many threads takes the units.
int parts_of_units(const CellWork& work, int team) {
  const int64_t panels = divided_up(work.units, work.panel);
  int most = 1;
  for (int parts = 1; parts <= team; ++parts) {
    if (team % parts || parts > panels) continue;
    most = parts;
    const int64_t samples = work.samples / (team / parts);
    if (samples >= kEnoughSamples || (samples > 0 && work.weight_bytes / parts <= kKeptBytes)) break;
  }
  return most;
}

}  // namespace

void Meeting::wait() {
  const uint32_t round = round_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
    arrived_.store(0, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
    return;
  }
  // Another that has no processor at present gets this one.
  for (int spins = 0; round_.load(std::memory_order_acquire) == round; ++spins)
    if (spins < 1'000) __builtin_ia32_pause();
    else std::this_thread::yield();
}

CellShares::CellShares(const CellWork& work, int team) {
  const int parts = parts_of_units(work, team), groups = team / parts;
  const int64_t panels = divided_up(work.units, work.panel);
  for (int group = 0; group < groups; ++group) {
    if (parts > 1) meetings_.push_back(std::make_unique<Meeting>(parts));
    for (int part = 0; part < parts; ++part) {
      const int64_t first = panels * part / parts * work.panel,
                    last = std::min(panels * (part + 1) / parts * work.panel, work.units);
      shares_.push_back({work.samples * group / groups, work.samples * (group + 1) / groups, first, last - first,
                         count(), parts > 1 ? meetings_.back().get() : nullptr});
    }
  }
}

int64_t CellShares::most_samples() const {
  int64_t most = 0;
  for (const CellShare& share : shares_) most = std::max(most, share.samples());
  return most;
}

}  // namespace neon::cpu
