// The ranks of a run compare what they are about to do before the first step, and what they found after a bad one.
#pragma once
#include <string>

#include "backends/program.h"
#include "neon/train/run_setup.h"

namespace neon {

// Throws a config error, the same on every rank, where a rank has another version, spec, position or other data.
void check_ranks(const RunSetup& setup, const Position& position);

// Throws the same error where ranks have taken other numbers from files. Ranks may share the rows of some variables.
void check_taken(const RunSetup& setup, const Variables& variables);

// Gives the samples that a rank has left out to all ranks. All of them call this together.
void share_left_out(Ranks& ranks, const Split& split);

// Describes the first result of all ranks, and names its rank unless all have it; `own` is this rank's. All of them
// call this together, and get the same. "" where all are finite.
std::string first_of_ranks(Ranks& ranks, const Nonfinite& own);

// The text of the first rank that has one: all ranks get it. "" where none has.
std::string first_text(Ranks& ranks, const std::string& own);

}  // namespace neon
