// Numbers with their nouns.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "neon/core/text.h"

namespace neon {

// "1 epoch", "2 epochs"; of a noun that adds other letters, `many` has the word for several: "class", "classes".
inline std::string counted(int64_t count, std::string_view noun, std::string_view many = "") {
  return many.empty() || count == 1 ? text(count, " ", noun, count == 1 ? "" : "s") : text(count, " ", many);
}

}  // namespace neon
