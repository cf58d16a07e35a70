// The two kinds of programs on the CPU.
#pragma once
#include "backends/graph/lower_options.h"
#include "backends/program.h"

namespace neon::cpu {

// How a graph is lowered for the fastest kernels, with these passes.
LowerOptions lower_options(PassSet passes = kCpuPasses);
// Lowered, with the fastest kernels.
std::unique_ptr<Program> make_fast_program(const Graph& graph, Variables& variables, const ProgramOptions& options);
// Node by node through the plain kernels; every value has memory of its own.
std::unique_ptr<Program> make_plain_program(const Graph& graph, Variables& variables);

// The name of an input, variable or scalar.
const std::string& leaf_name(const Graph& graph, Value value);
[[noreturn]] void not_bound(const Graph& graph, Value leaf);

}  // namespace neon::cpu
