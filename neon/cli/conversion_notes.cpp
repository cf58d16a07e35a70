#include "neon/cli/conversion_notes.h"

#include <algorithm>

#include "neon/core/counted.h"
#include "neon/core/params.h"
#include "neon/core/paths.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

constexpr int64_t kFewBits = 3;

int64_t rounding_of(const Setting& options) {
  const Setting* const given = options.find("rounding");
  int64_t bits = 0;
  return given && detail::read_integer(*given, bits) ? bits : 0;
}

}  // namespace

bool means_rounding_on(const Setting& options, const std::string& notation) {
  return notation == "0.9" && rounding_of(options) == 1;
}

namespace {

void tell_rounding(const Setting& options, const std::string& notation) {
  const int64_t bits = rounding_of(options);
  if (means_rounding_on(options, notation))
    print_message("note: -u 1 of neon 0.9 is -u here, without a number of bits");
  else if (bits > 0 && bits <= kFewBits)
    print_message(text("warning: -u ", bits, " keeps ", counted(bits, "bit"),
                       " of mantissa in the weights, too few for most nets; -u alone keeps 10"));
}

// Options of neon 0.9 whose letters mean other things here, with a silent effect.
struct OtherMeaning {
  std::string_view letter;
  const char *here, *before;
};
constexpr OtherMeaning kOtherMeanings[] = {
    {"-s", "saves checkpoints under this name", "profiled the run; neon bench SPEC times it"},
    {"-o", "writes the metrics to an HDF5 file of this name",
     "added a row of results to a table; neon compare shows those of several runs"},
    {"-l", "writes a log", "served live inference, which is not taken over"},
};

void tell_other_meanings(const std::vector<std::string>& words, const std::string& notation) {
  if (notation != "0.9") return;
  for (const OtherMeaning& option : kOtherMeanings)
    if (std::ranges::any_of(words, [&](const std::string& word) { return word.starts_with(option.letter); }))
      print_message(text("note: ", option.letter, ' ', option.here, "; in neon 0.9 it ", option.before));
}

}  // namespace

void print_conversion_notes(const CommandLine& line, const std::string& path, const Spec& spec) {
  if (spec.notation != "native" && !spec.notes.empty() && line.verbose < 2)
    print_message(text("note: ", path, " is of neon ", spec.notation, "; neon convert ", shell_word(path),
                       " prints what it means here"));
  tell_rounding(line.run_options, spec.notation);
  tell_other_meanings(line.words, spec.notation);
  for (const Remark& warning : spec.conversion.warnings)
    print_message(text("warning: ", warning.where, ": ", warning.text));
  if (line.verbose > 1)
    for (const std::string& note : spec.notes)
      if (std::ranges::none_of(spec.conversion.warnings,
                               [&](const Remark& said) { return note == text(said.where, ": ", said.text); }))
        print_message("note: " + note);
}

}  // namespace neon
