// A message about what goes on, where that takes more than a second: nobody waits before a silent program.
#pragma once
#include <string>

#include "neon/cli/later.h"

namespace neon {

class SlowNote {
 public:
  explicit SlowNote(std::string what);

 private:
  Later later_;
};

}  // namespace neon
