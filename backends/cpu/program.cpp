#include "backends/program.h"

#include <algorithm>

#include "backends/cpu/programs.h"
#include "backends/graph/op.h"

namespace neon {

void Program::bind_sequence(const std::string& input, const void* data, int64_t) {
  const Graph& graph = lowered_.graph;
  for (Value value : graph.leaves(LeafKind::input))
    if (graph.producer(value).attributes.string("name") == input)
      sequences_[input] = {data, graph.type(value).bytes() / size_t(std::max<int64_t>(graph.shape(value)[0], 1))};
}

void Program::set_first(int64_t row) {
  for (const auto& [input, sequence] : sequences_)
    bind(input, static_cast<const std::byte*>(sequence.data) + size_t(row) * sequence.row_bytes);
}

double Program::recorded(const std::string& output, int64_t element, int back) const {
  NEON_ASSERT(back == 0);
  return this->output(output).at(element);
}

namespace cpu {

const std::string& leaf_name(const Graph& graph, Value value) {
  return graph.producer(value).attributes.string("name");
}

[[noreturn]] void not_bound(const Graph& graph, Value leaf) {
  fail(ErrorKind::failed, graph.producer(leaf).op->name, " '", leaf_name(graph, leaf),
       "' of the program was not bound before it ran");
}

}  // namespace cpu

std::unique_ptr<Program> compile_for_cpu(const Graph& graph, Variables& variables, const ProgramOptions& options) {
  return options.plain ? cpu::make_plain_program(graph, variables) : cpu::make_fast_program(graph, variables, options);
}

}  // namespace neon
