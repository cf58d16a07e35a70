// Where a run starts: at its first step, with a seed, or where a checkpoint left off.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "neon/train/run_setup.h"

namespace neon {

struct RunStart {
  Position position;
  // A seed or --deterministic asks for the same bits again, and a resumed run keeps the threads that it chose: then the
  // clock chooses no number of threads.
  bool threads_fixed = false;
  std::vector<std::string> notes;  // what differs from the run that is resumed
};

// `resume` may be null. A run without a given seed takes `drawn`, or else draws one; unlike a given seed, `drawn` does
// not ask for the same bits. Throws a data error where the data are not those of the resumed run.
RunStart start_of_run(const RunSetup& setup, const StoredRun* resume, std::optional<uint64_t> drawn);

// The seed of a run without a given one.
uint64_t fresh_seed();

// Throws a data error for a position that this run has no step of.
void check_position(const Position& position, const RunSetup& setup);

}  // namespace neon
