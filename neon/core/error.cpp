#include "neon/core/error.h"

#include <filesystem>
#include <new>
#include <system_error>

namespace neon {

std::string reason_of(const std::exception& error, const std::string& otherwise) {
  if (const auto* ours = dynamic_cast<const Error*>(&error)) return ours->what();
  if (dynamic_cast<const std::bad_alloc*>(&error)) return "out of memory";
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error))
    return text(file->path1().string(), ": ", file->code().message());
  if (const auto* system = dynamic_cast<const std::system_error*>(&error)) return system->code().message();
  return otherwise;
}

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
