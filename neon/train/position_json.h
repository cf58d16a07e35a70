// The place of a run in a checkpoint's metadata.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "neon/train/run_state.h"

namespace neon {

// JSON has no NaN; numbers travel as the shortest text that reads back.
std::string exact_text(double value);
// Throws a data error for a text that is no number.
double read_exact(const nlohmann::json& value);

nlohmann::json write_position(const Position& position);
// Throws a data error, or one of the JSON library, where no run has such a place.
Position read_position(const nlohmann::json& from);

}  // namespace neon
