// The man page and the completions of shells, from the declarations of verbs and options.
#include <algorithm>

#include "neon/cli/usage.h"
#include "neon/core/error.h"
#include "neon/core/version.h"

namespace neon {

namespace {

// "-e", "--epochs"
std::vector<std::string> names_of(const Option& option) {
  std::vector<std::string> out;
  for (size_t at = 0; at < option.flags.size();) {
    const size_t end = std::min(option.flags.find(',', at), option.flags.size());
    out.emplace_back(option.flags.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::vector<std::string> choices_of(const Option& option) {
  std::vector<std::string> out;
  if (option.value.find('|') == option.value.npos) return out;
  for (size_t at = 0; at < option.value.size();) {
    const size_t end = std::min(option.value.find('|', at), option.value.size());
    out.emplace_back(option.value.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string replaced(std::string_view from, std::string_view letters, const char* before) {
  std::string out;
  for (const char c : from) (letters.find(c) != letters.npos ? out += before : out) += c;
  return out;
}

// Second words of the verbs that begin with `first`: list, fetch ... of data.
std::vector<std::string> second_words(const std::string& first) {
  std::vector<std::string> out;
  for (const Verb* verb : verbs())
    if (verb->name.starts_with(first + " ")) out.emplace_back(verb->name.substr(first.size() + 1));
  return out;
}

// Options that a verb with this first word takes.
std::vector<std::string> options_of_word(const std::string& word) {
  std::vector<std::string> out;
  for (const Option& option : all_options()) {
    const bool taken = std::ranges::any_of(verbs(), [&](const Verb* verb) {
      return (verb->name == word || verb->name.starts_with(word + " ")) && takes(*verb, option);
    });
    if (taken) std::ranges::copy(names_of(option), std::back_inserter(out));
  }
  return out;
}

// roff takes a leading dot or quote for a command, and - for a hyphen.
std::string roff(std::string_view words) {
  const std::string out = replaced(words, "\\-", "\\");
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string man_page() {
  std::string out = text(".TH NEON 1 \"\" \"neon ", version(), "\" \"User Commands\"\n.SH NAME\nneon \\- train neural ",
                         "networks from a YAML spec\n.SH SYNOPSIS\n.B neon\n[VERB] [OPTIONS] [OPERANDS]\n.SH VERBS\n");
  for (const Verb* verb : verbs())
    out += text(".TP\n.B ", roff(usage_of(*verb)), "\n", roff(text(verb->sentence, ".")), "\n");
  out += ".SH OPTIONS\n";
  for (const Option& option : all_options()) {
    out += text(".TP\n.B ", roff(spelled(option)), "\n", roff(option.sentence), "\n");
    for (const std::string_view verb : option.verbs)
      if (!option.groups && !verb.empty()) out += text("Taken by neon ", verb, ".\n");
  }
  return out +
         text(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage or spec, 3 bad data, 4 out of memory, 5 diverged,\n",
              "6 no such GPU or a GPU that failed, 130, 143 and 129 stopped by Ctrl\\-C, SIGTERM and SIGHUP, after "
              "saving.\n",
              ".SH SEE ALSO\n.B neon help\nlists everything that a spec can name,\n.B neon help NAME\nexplains one of "
              "it.\n");
}

// The keys of the spec that stands on the line, for --set. A spec may be anybody's: compgen -W would run a key such as
// $(command), and so would a line that has it. Such keys are left out. No shell has put the home folder in place of ~
// by now; one that did so here would also run what stands in the word.
constexpr const char* kBashKeys =
    "for word in \"${COMP_WORDS[@]}\"; do\n"
    "        [[ $word == '~/'* ]] && word=$HOME/${word:2}\n"
    "        [[ ($word == *.yaml || $word == *.yml) && -f $word ]] || continue\n"
    "        while IFS= read -r word; do\n"
    "          [[ $word == \"$cur\"* && $word != *[^][[:alnum:]_.-]* ]] && COMPREPLY+=(\"$word=\")\n"
    "        done < <(neon check \"$word\" --explain keys 2>/dev/null)\n"
    "        compopt -o nospace 2>/dev/null\n"
    "        break\n"
    "      done\n"
    "      ";

std::string bash_completion() {
  std::string out =
      "# bash completion of neon; made by neon help --as bash\n_neon() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=train word\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n";
  out += text("    case $word in ", join(first_words(), "|"), ") verb=$word; break ;; esac\n  done\n  case $prev in\n");
  for (const Option& option : all_options()) {
    if (option.is_flag()) continue;
    const std::vector<std::string> choices = choices_of(option);
    out += text("    ", join(names_of(option), "|"), ") ",
                option.value == "KEY=VALUE" ? kBashKeys
                : !choices.empty()          ? text("COMPREPLY=($(compgen -W '", join(choices, " "), "' -- \"$cur\")); ")
                : option.value == "FOLDER"  ? "COMPREPLY=($(compgen -d -- \"$cur\")); "
                : option.value == "FILE"    ? "COMPREPLY=($(compgen -f -- \"$cur\")); "
                                            : "",
                "return ;;\n");
  }
  out += "  esac\n  if [[ $cur == -* ]]; then\n    case $verb in\n";
  for (const std::string& word : first_words())
    out += text("      ", word, ") word='", join(options_of_word(word), " "), "' ;;\n");
  out += "    esac\n    COMPREPLY=($(compgen -W \"$word\" -- \"$cur\"))\n    return\n  fi\n  word=\n";
  out += text("  ((COMP_CWORD == 1)) && word='", join(first_words(), " "), "'\n");
  for (const std::string& first : first_words())
    if (const auto seconds = second_words(first); !seconds.empty())
      out += text("  [[ $prev == ", first, " ]] && word='", join(seconds, " "), "'\n");
  return out + "  COMPREPLY=($(compgen -W \"$word\" -f -- \"$cur\"))\n}\ncomplete -o filenames -F _neon neon\n";
}

// The same for zsh and fish, which run no word that a function offers.
constexpr const char* kZshKeys =
    "_neon_keys() {\n  local word\n  local -a keys\n  for word in ${(Q)words}; do\n"
    "    [[ $word == '~/'* ]] && word=$HOME/${word[3,-1]}\n"
    "    [[ ($word == *.yaml || $word == *.yml) && -f $word ]] || continue\n"
    "    keys=(${(f)\"$(neon check $word --explain keys 2>/dev/null)\"})\n"
    "    keys=(${keys:#*[^][[:alnum:]_.-]*})\n"
    "    compadd -S '' -- ${^keys}=\n    return\n  done\n}\n";
constexpr const char* kFishKeys =
    "function __neon_keys\n  for word in (commandline -op)\n"
    "    string match -q '~/*' -- $word; and set word $HOME/(string sub -s 3 -- $word)\n"
    "    string match -qr '\\.ya?ml$' -- $word; and test -f $word; or continue\n"
    "    neon check $word --explain keys 2>/dev/null | string match -r '^[][[:alnum:]_.-]+$' | string replace -r '$' "
    "'='\n"
    "    return\n  end\nend\n";

// The text of an option in zsh's _arguments: quotes doubled, brackets and colons escaped.
std::string zsh_option(const Option& option) {
  const std::vector<std::string> names = names_of(option), choices = choices_of(option);
  std::string sentence;
  for (const char c : replaced(option.sentence, "[]:\\", "\\")) sentence += c == '\'' ? "'\\''" : std::string(1, c);
  const std::string action = !choices.empty()              ? text(":value:(", join(choices, " "), ")")
                             : option.is_flag()            ? ""
                             : option.value == "FOLDER"    ? ":folder:_files -/"
                             : option.value == "FILE"      ? ":file:_files"
                             : option.value == "KEY=VALUE" ? ":KEY=VALUE:_neon_keys"
                                                           : text(":", option.value, ":");
  const std::string quoted = text("'[", sentence, "]", action, "'");
  const bool repeats = option.value.ends_with("=VALUE");
  return names.size() == 1 ? text("    ", repeats ? "'*'" : "", names[0], quoted)
                           : text("    '(", join(names, " "), ")'{", join(names, ","), "}", quoted);
}

std::string zsh_completion() {
  std::string out =
      "#compdef neon\n# zsh completion of neon; made by neon help --as zsh\n"
      "_neon_operands() {\n  (( CURRENT == 3 )) && case $words[2] in\n";
  for (const std::string& word : first_words())
    if (const auto second = second_words(word); !second.empty())
      out += text("    ", word, ") compadd ", join(second, " "), ";;\n");
  out += text("  esac\n  _files\n}\n", kZshKeys, "_neon() {\n  local -a verbs\n  verbs=(\n");
  for (const std::string& word : first_words()) {
    const Verb* const verb = find_verb(word);
    std::string sentence;
    for (const char c : std::string(verb ? verb->sentence : join(second_words(word), ", ")))
      sentence += c == '\'' ? "'\\''" : std::string(1, c);
    out += text("    '", word, ":", sentence, "'\n");
  }
  out += "  )\n  _arguments -s \\\n";
  for (const Option& option : all_options()) out += zsh_option(option) + " \\\n";
  return out + "    '1: :{_describe verb verbs; _files}' \\\n    '*: :_neon_operands'\n}\n_neon \"$@\"\n";
}

std::string fish_completion() {
  std::string out = text("# fish completion of neon; made by neon help --as fish\n", kFishKeys);
  const auto quoted = [](std::string_view words) { return text("'", replaced(words, "\\'", "\\"), "'"); };
  for (const std::string& word : first_words()) {
    const Verb* const verb = find_verb(word);
    out += text("complete -c neon -n __fish_use_subcommand -a ", word, " -d ",
                quoted(verb ? verb->sentence : join(second_words(word), ", ")), "\n");
    for (const std::string& second : second_words(word))
      out += text("complete -c neon -n '__fish_seen_subcommand_from ", word, "' -a ", second, " -d ",
                  quoted(find_verb(word + " " + second)->sentence), "\n");
  }
  for (const Option& option : all_options()) {
    out += "complete -c neon";
    for (const std::string& name : names_of(option))
      out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    const std::vector<std::string> choices = choices_of(option);
    if (!choices.empty()) out += text(" -x -a '", join(choices, " "), "'");
    else if (option.value == "FILE" || option.value == "FOLDER") out += " -r";
    else if (option.value == "KEY=VALUE") out += " -x -a '(__neon_keys)'";
    else if (!option.is_flag()) out += " -x";
    out += text(" -d ", quoted(option.sentence), "\n");
  }
  return out;
}

}  // namespace

std::string help_as(const std::string& form) {
  return form == "man"    ? man_page()
         : form == "bash" ? bash_completion()
         : form == "zsh"  ? zsh_completion()
                          : fish_completion();
}

}  // namespace neon
