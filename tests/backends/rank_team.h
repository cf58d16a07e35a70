// The ranks of a test: threads of one process (ranks_test.cpp), or processes that mpirun has started
// (mpi_ranks_test.cpp).
#pragma once
#include <functional>

#include "backends/ranks.h"

namespace neon_test {

// Runs work(ranks) as each of so many ranks. A process of mpirun is one of them; where they are another number, it does
// nothing. What `work` finds must not lead to exchanges that other ranks do not make.
void as_ranks(int count, const std::function<void(neon::Ranks&)>& work);

}  // namespace neon_test
