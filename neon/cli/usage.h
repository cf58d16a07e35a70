// Help texts made from the declarations of verbs and options.
#pragma once
#include <string>

#include "neon/cli/options.h"
#include "neon/cli/verb.h"

namespace neon {

// neon --help: all verbs and options.
std::string help_of_all();
// neon VERB --help: how it is called, its sentence, the options it takes.
std::string help_of(const Verb& verb);

// The help as a page for man (roff), or as a completion for bash, zsh or fish.
std::string help_as(const std::string& form);

// "-e, --epochs N"
std::string spelled(const Option& option);
// The verbs that take an option of single verbs: "plot", "eval and predict", "bench, lr-find and overfit"; "" for other
// options.
std::string verbs_of(const Option& option);

}  // namespace neon
