#include "neon/cli/verb.h"

#include <algorithm>
#include <tuple>

#include "neon/core/error.h"

namespace neon {

namespace {

std::vector<Verb>& registered() {
  static std::vector<Verb> all;
  return all;
}

// Verbs of other programs.
struct ForeignVerb {
  std::string_view word, verb;
};
constexpr ForeignVerb kForeignVerbs[] = {
    {"evaluate", "eval"},    {"test", "eval"},         {"infer", "predict"},    {"inference", "predict"},
    {"classify", "predict"}, {"run", "train"},         {"fit", "train"},        {"learn", "train"},
    {"continue", "resume"},  {"restart", "resume"},    {"validate", "check"},   {"lint", "check"},
    {"info", "summary"},     {"inspect", "summary"},   {"show", "summary"},     {"profile", "bench"},
    {"benchmark", "bench"},  {"version", "--version"}, {"list", "data list"},   {"download", "data fetch"},
    {"fetch", "data fetch"}, {"pack", "data pack"},    {"stats", "data stats"}, {"preview", "data preview"},
};

}  // namespace

VerbRegistration::VerbRegistration(const Verb& verb) { registered().push_back(verb); }

std::vector<const Verb*> verbs() {
  std::vector<const Verb*> out;
  for (const Verb& verb : registered()) out.push_back(&verb);
  std::ranges::sort(out, {}, [](const Verb* verb) { return std::tuple(verb->place, verb->name); });
  return out;
}

const Verb* find_verb(std::string_view name) {
  const auto found = std::ranges::find(registered(), name, &Verb::name);
  return found == registered().end() ? nullptr : &*found;
}

std::string usage_of(const Verb& verb) {
  const std::string begin = verb.name == "train" ? "neon [OPTIONS]" : text("neon ", verb.name);
  return verb.operands.empty() ? begin : text(begin, " ", verb.operands);
}

std::vector<std::string> first_words() {
  std::vector<std::string> out;
  for (const Verb* verb : verbs()) {
    const std::string word(verb->name.substr(0, verb->name.find(' ')));
    if (!std::ranges::count(out, word)) out.push_back(word);
  }
  return out;
}

namespace {

// "; did you mean neon eval?", or "".
std::string verb_hint(const std::string& word) {
  const auto foreign = std::ranges::find(kForeignVerbs, lower(word), &ForeignVerb::word);
  if (foreign != std::end(kForeignVerbs)) return text("; did you mean neon ", foreign->verb, "?");
  return did_you_mean(word, first_words());
}

}  // namespace

bool resembles_verb(const std::string& word) { return !verb_hint(word).empty(); }

void unknown_verb(const std::string& word) {
  fail(ErrorKind::config, in_quotes(word), " is no verb", verb_hint(word), "; neon --help lists the verbs");
}

}  // namespace neon
