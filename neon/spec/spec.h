// A training spec from YAML, in one form whatever notation it was written in:
//
//   dataset, augment, layers, cost, optimizer, metrics, callbacks, batch_size, epochs and any further keys;
//   an object is `Name` or `{Name: {parameters}}`; `Repeat` is expanded; `define` is gone.
//
// Which names and parameters exist is not known here: whoever makes the objects checks them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "neon/core/setting.h"
#include "neon/spec/conversion.h"
#include "neon/spec/override.h"
#include "neon/spec/search_range.h"

namespace neon {

struct Spec {
  Setting root;  // a map
  // "native"; "0.9": !obj:package.Class {...}; "1.2": {type: Name, config: {...}}; "1.0": {type: Name, parameters
  // inline}.
  std::string notation;
  // A line for each thing left out or overruled in an older file: anchor holders, doubled keys.
  std::vector<std::string> notes;
  Conversion conversion;  // of a file of 0.9; its warnings also name the ranges that got their middle
  std::vector<SearchRange> ranges;
  std::vector<SearchRange> unset;  // ranges that count, and got no value
};

// Overrides are those of override.h. They see the spec in its one form, but before `Repeat` is expanded: an
// index counts the items of a list as the file has them, and so do the paths in messages.
// Throws one config error with a line for each problem.
Spec load_spec(const std::string& path, const std::vector<Override>& overrides = {}, const RangeUse& use = {});
Spec spec_from_text(std::string_view text, const std::string& name, const std::vector<Override>& overrides = {},
                    const RangeUse& use = {});

}  // namespace neon
