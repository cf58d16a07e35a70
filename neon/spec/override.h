// `--set PATH=VALUE`: a spec changed from the command line.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "neon/core/setting.h"

namespace neon {

struct Override {
  std::string assignment;  // PATH=VALUE
  std::string where;       // the line of a file of options, "options.txt:3"; "": the command line
  Override(const char* assignment) : assignment(assignment) {}
  Override(std::string assignment, std::string where = "")
      : assignment(std::move(assignment)), where(std::move(where)) {}
};

// PATH: keys with dots between them and [index] for an item of a list:
//   batch_size=64   optimizer.learning_rate=0.01   layers[2].nout=50   layers.fc1.nout=50
// A key leads through an object to its parameters (optimizer.learning_rate is
// optimizer.GradientDescentMomentum.learning_rate) and through a MultiOptimizer's mapping to the optimizers in it, an
// index to the list that is its value. In a list, a key takes
// the object with that `name`, wherever it is nested, the only item of that class, or the layer of that default name,
// Class_N. A key with a dot in it stands in double quotes. VALUE is YAML on one line, typed as in a file: 0.1, [3, 3],
// {Gaussian: {scale: 0.01}}. As in neon 1.x, `config` may stand before a parameter, and optimizer.type is the class.
// The last key may be new, since not every parameter is written; any other must be there, unless its value is a map of
// parameters and no object (layers[0].batch_norm.rho).
// The root must have its paths. Problems are added; the root is changed only without a problem.
void apply_override(Setting& root, const Override& given, Problems& problems);

// The setting that such a PATH leads to, with its place; a class name may stand in the path, too. Without one,
// `why_not` says why.
std::optional<Setting> setting_at(Setting root, std::string_view path, std::string& why_not);

// A key of the top level and the value that an assignment gives it, as written; no key where it leads further in or
// cannot be read.
struct TopLevelOverride {
  std::string key, value;
};
TopLevelOverride top_level_override(std::string_view assignment);

}  // namespace neon
