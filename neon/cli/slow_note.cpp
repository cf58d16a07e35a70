#include "neon/cli/slow_note.h"

#include "neon/train/terminal.h"

namespace neon {

SlowNote::SlowNote(std::string what)
    : later_(std::chrono::seconds(1), [what = std::move(what)] { print_message(what); }) {}

}  // namespace neon
