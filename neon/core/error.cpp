#include "neon/core/error.h"

namespace neon {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::failed: return 1;
    case ErrorKind::config: return 2;
    case ErrorKind::data: return 3;
    case ErrorKind::memory: return 4;
    case ErrorKind::diverged: return 5;
    case ErrorKind::device: return 6;
  }
  return 1;
}

void assertion_failed(const char* condition, const char* file, int line) {
  fail(ErrorKind::failed, "internal error at ", file, ":", line, ": ", condition,
       " does not hold; please report this line with the spec that led here");
}

}  // namespace neon
