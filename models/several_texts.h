// Samples of several texts, between which a line's end stands.
#pragma once
#include <algorithm>

#include "models/step_graph.h"

namespace neon {

inline int64_t token_of_line_end(const Vocabulary& vocabulary) {
  if (vocabulary.unit == TextUnit::byte) return '\n';
  const auto found = std::ranges::find(vocabulary.texts, "\n");
  return found == vocabulary.texts.end() ? -1 : found - vocabulary.texts.begin();
}

// So that TextPart finds each of them.
inline void say_texts(LayerContext& context, const DataLayout& data) {
  context.texts = data.texts;
  if (data.texts > 1) context.line_end = token_of_line_end(data.vocabulary);
}

}  // namespace neon
