#include "neon/cli/data_checks.h"

#include <algorithm>
#include <filesystem>

namespace neon {

void check_blanks(const Experiment& experiment, const Data& data) {
  const auto& cost = experiment.params.cost;
  if (data.label_of != LabelOf::sequence || !cost || cost->blank() < 0) return;
  const std::pair<const char*, const Split*> splits[] = {
      {"training", &data.train}, {"validation", &data.validation}, {"test", &data.test}};
  for (const auto& [name, split] : splits) {
    const int64_t count = split->size() > 0 ? split->label_count() : 0;
    for (int64_t i = 0; i < count; ++i)
      if (split->label(i) == cost->blank())
        fail(ErrorKind::data, data.source, ": ", name, " sample ", i / (count / split->size()), " has the label ",
             cost->blank(), ", which is the blank of the cost; number labels from 1, or give the cost another blank");
  }
}

std::vector<std::string> notes_on_metrics(const Experiment& experiment, const SampleMeaning& data) {
  constexpr const char* kOfCharacters = "BitsPerCharacter";
  const TextUnit unit = data.vocabulary.unit;
  const std::vector<Metric::Result> results = experiment.results();
  if ((unit != TextUnit::word && unit != TextUnit::bpe) ||
      std::ranges::none_of(results, [](const Metric::Result& each) { return each.name == kOfCharacters; }))
    return {};
  return {
      text(kOfCharacters, ": tokens are ", unit == TextUnit::word ? "words" : "made by unit: bpe",
           " here, so that it has the bits of a token, not of a character; metrics: [Perplexity] suits any tokens")};
}

bool lacks_path(const Experiment& experiment, const DataContext& context) {
  const Setting& set = experiment.params.dataset.resolved();
  const Setting* const path = set.is_map() ? set.entries.at(0).value.find("path") : nullptr;
  if (!path || !path->is_scalar() || path->value.empty() || path->value.find_first_of("*{") != std::string::npos)
    return false;
  return std::ranges::none_of(context.places_of(path->value), [](const std::string& place) {
    std::error_code ignored;
    return std::filesystem::exists(place, ignored);
  });
}

}  // namespace neon
