// A spec of an older neon, rewritten: decisions, comments and anchors to print beside it, and options of the run.
#pragma once
#include <string>
#include <vector>

#include "neon/core/setting.h"

namespace neon {

// A line about the value at a place of the older file.
struct Remark {
  Location where;
  std::string text;
};

struct Conversion {
  std::vector<Remark> remarks;   // decisions of the translator, one line each
  std::vector<Remark> warnings;  // those of them that a run prints, too
  std::vector<Remark> comments;  // the older file's own, at the values that they stand beside or before
  std::vector<Remark> anchors;   // names of values
  Setting options;               // of the run: save_path, serialize ...; see RunOptions
};

}  // namespace neon
