#include "neon/cli/usage.h"

#include <algorithm>

#include "neon/core/error.h"
#include "neon/core/version.h"

namespace neon {

namespace {

constexpr size_t kColumns = 100, kIndent = 34;

// Words behind `indent` spaces, in lines of kColumns letters; the first line has its spaces already.
std::string wrapped(std::string_view words, size_t indent) {
  std::string out, line;
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    if (!line.empty() && indent + line.size() + 1 + end > kColumns) {
      out += line + "\n" + std::string(indent, ' ');
      line.clear();
    }
    line += (line.empty() ? "" : " ") + std::string(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return out + line + "\n";
}

// A name in the first column, and words in the second.
std::string entry(const std::string& name, std::string_view words) {
  std::string out = "  " + name;
  out += out.size() + 2 > kIndent ? "\n" + std::string(kIndent, ' ') : std::string(kIndent - out.size(), ' ');
  return out + wrapped(words, kIndent);
}

// Sections of --help; the options of a section are those that `holds` accepts.
struct Section {
  const char* title;
  bool (*holds)(const Option&);
};
constexpr const char* kSingle = "Options of single verbs";
constexpr Section kSections[] = {
    {"Device", [](const Option& o) { return (o.groups & (takes_device | takes_devices)) != 0; }},
    {"Data", [](const Option& o) { return (o.groups & takes_data) != 0; }},
    {"Training", [](const Option& o) { return (o.groups & (takes_training | takes_weights)) != 0; }},
    {"Files of a run", [](const Option& o) { return o.groups == takes_files; }},
    {kSingle, [](const Option& o) { return !o.groups && !o.verbs[0].empty(); }},
    {"Spec", [](const Option& o) { return o.groups == takes_values; }},
    {"Every verb", [](const Option& o) { return o.holder == Holder::line && !o.groups; }},
};

// Sections with the options that `is_wanted` accepts, as a verb means them; null: each names its verbs.
std::string sections(auto&& is_wanted, const Verb* verb) {
  std::string out;
  for (const Section& section : kSections) {
    std::string lines;
    for (const Option& option : all_options())
      if (section.holds(option) && is_wanted(option)) {
        const std::string of = verb ? "" : verbs_of(option), before = of.empty() ? "" : "With " + of + ": ";
        lines += entry(spelled(option), text(before, sentence_for(option, verb ? verb->name : "")));
      }
    const bool own = verb && section.title == kSingle;
    if (!lines.empty()) out += text("\n", own ? "Options of this verb" : section.title, ":\n", lines);
  }
  return out;
}

}  // namespace

std::string spelled(const Option& option) {
  std::string out;
  for (const char letter : option.flags) out += letter == ',' ? std::string(", ") : std::string(1, letter);
  return option.is_flag() ? out : text(out, " ", option.value);
}

std::string verbs_of(const Option& option) {
  std::vector<std::string> names;
  for (const std::string_view verb : option.verbs)
    if (!option.groups && !verb.empty()) names.emplace_back(verb);
  if (names.size() < 2) return join(names, "");
  const std::string last = names.back();
  names.pop_back();
  return text(join(names, ", "), " and ", last);
}

std::string help_of_all() {
  std::string out = "neon trains neural networks from a YAML spec.\n\nVerbs:\n";
  for (const Verb* verb : verbs()) out += entry(usage_of(*verb), text(verb->sentence, "."));
  out += sections([](const Option&) { return true; }, nullptr);
  return out + "\nneon VERB --help explains a verb, neon help NAME everything that a spec can name.\n";
}

std::string help_of(const Verb& verb) {
  return text(usage_of(verb), "\n  ", wrapped(text(verb.sentence, "."), 2),
              sections([&](const Option& option) { return takes(verb, option); }, &verb));
}

}  // namespace neon
