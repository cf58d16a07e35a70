#include "neon/cli/arguments.h"

#include <algorithm>
#include <cctype>

#include "neon/core/error.h"
#include "neon/spec/override.h"
#include "neon/spec/source.h"
#include "neon/train/experiment.h"
#include "neon/train/options.h"

namespace neon {

namespace {

// A number, or meant as one: an option's value, which is refused where it must be.
bool begins_as_number(const std::string& s) {
  const size_t sign = s.starts_with('-') || s.starts_with('+');
  const size_t digit = sign + (s.size() > sign && s[sign] == '.');
  return digit < s.size() && std::isdigit(uint8_t(s[digit])) && !is_spec(s);
}

std::string trimmed(std::string_view s) {
  s.remove_prefix(std::min(s.find_first_not_of(" \t"), s.size()));
  return std::string(s.substr(0, s.find_last_not_of(" \t") + 1));
}

// The value behind the key: inside of quotes, or as far as a comment.
std::string config_value(const std::string& s, const Location& where) {
  if (s.empty() || (s[0] != '\'' && s[0] != '"')) return trimmed(s.substr(0, s.find_first_of("#;")));
  const size_t end = s.find(s[0], 1);
  if (end == s.npos) fail(ErrorKind::config, where, ": the quote before ", in_quotes(s.substr(1)), " is not closed");
  const std::string rest = trimmed(std::string_view(s).substr(end + 1));
  if (!rest.empty() && rest[0] != '#' && rest[0] != ';')
    fail(ErrorKind::config, where, ": ", in_quotes(rest), " after the closing quote; expected the end of the line");
  return s.substr(1, end - 1);
}

// The first two were its names in neon 1.0 and 1.1; with one dash they are no short options in a row.
constexpr std::string_view kEvalFrequency[] = {"--validation_freq", "--evaluation_freq", "-val", "-eval"};

// neon 1.x's parser takes the truth value that --rounding is there without a number.
std::string rounding_value(const std::string& value) {
  const std::string word = lower(value);
  return word == "false" ? "0" : word == "true" ? std::to_string(kUsualRounding) : value;
}

}  // namespace

std::string datatype_value(const std::string& value) {
  std::string_view name = value;
  for (const std::string_view module : {"np.", "numpy."})
    if (name.starts_with(module)) name.remove_prefix(module.size());
  for (const char* bits : {"16", "32", "64"})
    if (name == text("float", bits)) return text("f", bits);
  return value;
}

bool is_spec(const std::string& path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

SetOption option_set_by(const std::string& assignment) {
  const TopLevelOverride set = top_level_override(assignment);
  // By the name that it has in a spec, which may be an older one.
  const Field* const field = schema_of<ExperimentParams>().find(set.key);
  return field && schema_of<RunOptions>().find(field->name) ? SetOption{field->name, set.value} : SetOption{};
}

// CLI11 knows no long option with one dash, and an optional value would swallow the spec that follows it.
std::vector<std::string> clear_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    const std::string next = i + 1 < arguments.size() ? arguments[i + 1] : "";
    auto optional_value = [&](const char* option, const char* fallback, bool take) {
      out.insert(out.end(), {option, take ? next : fallback});
      i += take;
    };
    const size_t name = std::min(a.find('='), a.size());
    if (std::ranges::count(kEvalFrequency, std::string_view(a).substr(0, name)))
      out.push_back("--eval_freq" + a.substr(name));
    else if (a == "-u" || a == "--rounding") optional_value("--rounding", "-1", begins_as_number(next));
    else if (a == "--serialize") optional_value("--serialize", "1", begins_as_number(next));
    else if (a == "-l" || a == "--log")
      optional_value("--log", "neon_log.txt", i + 1 < arguments.size() && !next.starts_with('-') && !is_spec(next));
    else out.push_back(a);
  }
  return out;
}

std::vector<ConfigLine> config_lines(const std::string& path) {
  constexpr size_t kMostBytes = 1 << 20;
  const Source file(read_text_file(path, kMostBytes), path, kMostBytes);
  std::vector<ConfigLine> out;
  const auto lines = int(std::ranges::count(file.text(), '\n')) + 1;
  for (int i = 0; i < lines; ++i) {
    const std::string line = trimmed(file.line(i));
    const size_t split = line.find_first_of("=:#;");
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    const std::string key = trimmed(line.substr(0, split));
    if (key.starts_with('-') || key.size() == 1)
      fail(ErrorKind::config, file.at(i, 0), ": ", in_quotes(key), ": write options by their long names, without ",
           "dashes, as in epochs = 3");
    if (key == "config") fail(ErrorKind::config, file.at(i, 0), ": a file of options cannot name another one");
    std::string argument = "--" + key;
    if (split != line.npos && (line[split] == '=' || line[split] == ':')) {
      const std::string value = config_value(trimmed(line.substr(split + 1)), file.at(i, 0));
      if (value.empty())
        fail(ErrorKind::config, file.at(i, 0), ": ", key, " has no value; give it one, or take it out");
      argument += "=" + (key == "rounding" ? rounding_value(value) : value);
    }
    out.push_back({file.at(i, 0), clear_arguments({argument})});
  }
  return out;
}

}  // namespace neon
