#include "models/several_targets.h"

#include <algorithm>

#include "neon/core/key_error.h"
#include "transforms/parts.h"

namespace neon {

std::vector<size_t> targets_of_outputs(const DataLayout& data, const StepOptions& options) {
  std::vector<std::string> names;
  for (const NamedTarget& target : data.targets) names.push_back(target.name);
  if (options.outputs.empty())
    fail_about("cost", "compares one target, and the data set has ", names.size(), ": ", join(names, ", "),
               "; give each an output with a cost under outputs, as in outputs: {", names[0], ": {cost: ...}}");
  std::vector<size_t> out;
  for (const NetOutput& output : options.outputs) {
    const auto found = std::ranges::find(names, output.target);
    if (names.empty())
      fail_about("outputs", "names ", in_quotes(output.target), ", and the data set has one target without a name; ",
                 "name its columns under targets, or give cost in place of outputs");
    if (found == names.end())
      fail_about("outputs", "the data set has no target ", in_quotes(output.target), did_you_mean(output.target, names),
                 "; it has ", join(names, ", "));
    out.push_back(size_t(found - names.begin()));
  }
  for (size_t k = 0; k < names.size(); ++k)
    if (!std::ranges::count(out, k))
      fail_about("outputs", "the target ", in_quotes(names[k]), " has no output; add ", names[k],
                 ": {cost: ...}, or leave it out of the data set's targets");
  return out;
}

Expr columns_of(Expr x, int64_t first, int64_t count) {
  if (first == 0 && count == x.shape()[1]) return x;
  return part(x, 1, first, count);
}

Expr joined_outputs(const std::vector<Expr>& outputs) { return beside(outputs, 1); }

Expr compared_targets(Graph& graph, const DataLayout& data, const StepOptions& options, Value targets, DType dtype) {
  const Expr all(graph, targets);
  std::vector<Expr> out;
  for (const size_t k : targets_of_outputs(data, options)) {
    const NamedTarget& target = data.targets[k];
    Expr own = columns_of(all, first_column_of(data.targets, k), target.columns());
    if (target.kind == TargetKind::classes) own = apply("equal", own, Expr(graph, iota(graph, {1, target.width}, 1)));
    out.push_back(cast(own, dtype));
  }
  return joined_outputs(out);
}

std::vector<Standard> standards_of_outputs(const DataLayout& data, const StepOptions& options) {
  if (options.outputs.empty()) return {data.target_standard};
  std::vector<Standard> out;
  for (const size_t k : targets_of_outputs(data, options)) out.push_back(data.targets[k].standard);
  return out;
}

}  // namespace neon
