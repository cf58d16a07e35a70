// Verbs: each registers itself at the end of its own file. The reading of the command line, --help, the man page and
// the completions of shells are made from these declarations, so none of them can lack a verb.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "neon/cli/command_line.h"

namespace neon {

// Options that mean something to a verb, by groups (see options.h), and whether it computes. A verb without a group
// refuses that group's options.
enum Takes : unsigned {
  takes_nothing = 0,
  takes_device = 1,     // where and in which type it computes
  takes_data = 2,       // which samples, in which batches and order
  takes_training = 4,   // a training step: length of a run, rounding
  takes_files = 8,      // files that a run writes
  computes = 16,        // by threads, which then wait with short spins
  takes_seed = 32,      // of what it draws
  takes_values = 64,    // of the ranges that a spec leaves to a search
  takes_weights = 128,  // that a training begins with
  takes_devices = 256,  // several, each with its share of a step
  takes_shapes = takes_device | takes_data | takes_training,
  takes_step = takes_shapes | takes_weights,
  takes_run = takes_step | takes_files | takes_devices,
};

struct Verb {
  std::string_view name;  // "check", "data pack"
  int place;              // in lists: lower first
  unsigned takes;
  std::string_view operands;  // "SPEC", "PATH FOLDER"; "" for none
  std::string_view sentence;  // without a full stop
  // Prints its results and returns the exit code.
  int (*run)(const CommandLine&);
};

// All, in the order of lists.
std::vector<const Verb*> verbs();
// Null where no verb has that name.
const Verb* find_verb(std::string_view name);
// "neon data pack PATH FOLDER"
std::string usage_of(const Verb& verb);
// Words with which a verb's name begins: check, data.
std::vector<std::string> first_words();

// Whether a verb, here or of another program, may be meant.
bool resembles_verb(const std::string& word);
// A config error for a word where a verb is expected: "'sumary' is no verb; did you mean summary? ...".
[[noreturn]] void unknown_verb(const std::string& word);

struct VerbRegistration {
  explicit VerbRegistration(const Verb& verb);
};
// NEON_VERB(run_check, "check", 2, takes_run, "SPEC", "check a spec and its data; train nothing");
#define NEON_VERB(function, ...) \
  static const ::neon::VerbRegistration verb_##function(::neon::Verb{__VA_ARGS__, function})

}  // namespace neon
