#include "neon/train/growing_file.h"

#include <utility>

#include "neon/core/error.h"

namespace neon {

std::string GrowingFile::flush() {
  if (const int error = write_at(file_, end_, pending_.data(), pending_.size())) {
    if (std::exchange(failing_, true)) return "";
    return text("warning: cannot write ", path_, ": ", system_message(error), "; training goes on");
  }
  end_ += pending_.size();
  pending_.clear();
  return "";
}

}  // namespace neon
