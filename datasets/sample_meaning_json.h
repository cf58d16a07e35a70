// The meaning of samples as texts in a checkpoint's metadata. Names that are not UTF-8 are stored with replacements.
#pragma once
#include <string>

#include "datasets/sample_meaning.h"

namespace neon {

struct MeaningTexts {
  std::string data;     // "neon.data", a JSON object; `source` is in it for readers of the file
  std::string classes;  // "neon.classes", a JSON list of names
};
MeaningTexts write_meaning(const SampleMeaning& meaning, const std::string& source);

// Older checkpoints lack some facts, which then have the values of their time. Throws a data error for texts that do
// not describe samples.
SampleMeaning read_meaning(const MeaningTexts& texts);

}  // namespace neon
