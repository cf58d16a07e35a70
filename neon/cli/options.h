// The options, each declared once: how it is written, whose parameter it is, which verbs take it, what it does. The
// reading of the command line, --help, the man page and the completions of shells are made from this table.
#pragma once
#include <array>
#include <span>
#include <string_view>

namespace neon {

// Whose parameter the field is: RunOptions, VerbOptions, DeviceRequest; or what the reading itself does.
enum class Holder { run, verb, devices, line };

struct Option {
  std::string_view flags;  // "-e,--epochs"
  std::string_view value;  // what follows, for help: "N", "cpu|gpu"; "" for a flag
  Holder holder;
  const char* field;
  // Groups (Takes) of verbs that take it, beside the verbs named; without groups and names, every verb does.
  unsigned groups;
  std::string_view sentence;
  std::array<std::string_view, 12> verbs = {};
  bool is_flag() const { return value.empty(); }
};

std::span<const Option> all_options();

// The sentence of an option in the help of a verb, for which it may have a meaning of its own.
std::string_view sentence_for(const Option& option, std::string_view verb);

struct Verb;
// Whether an option means something to a verb.
bool takes(const Verb& verb, const Option& option);

}  // namespace neon
