#include "neon/cli/arguments.h"

#include <algorithm>

#include "neon/core/error.h"
#include "neon/spec/source.h"

namespace neon {

namespace {

bool is_integer(const std::string& s) { return !s.empty() && s.find_first_not_of("0123456789") == s.npos; }

bool is_spec(const std::string& s) { return s.ends_with(".yaml") || s.ends_with(".yml"); }

// CLI11 knows no long option with one dash, and an optional value would swallow the spec that follows it.
std::vector<std::string> unambiguous(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    const std::string next = i + 1 < arguments.size() ? arguments[i + 1] : "";
    auto optional_value = [&](const char* option, const char* fallback, bool take) {
      out.insert(out.end(), {option, take ? next : fallback});
      i += take;
    };
    if (a == "-eval") out.push_back("--eval_freq");
    else if (a.starts_with("-eval=")) out.push_back("--eval_freq=" + a.substr(6));
    else if (a == "-u" || a == "--rounding") optional_value("--rounding", "-1", is_integer(next));
    else if (a == "--serialize") optional_value("--serialize", "1", is_integer(next));
    else if (a == "-l" || a == "--log")
      optional_value("--log", "neon_log.txt", i + 1 < arguments.size() && !next.starts_with('-') && !is_spec(next));
    else out.push_back(a);
  }
  return out;
}

// A config file of neon 1.x: `key = value`, `key: value` or `key` a line; # and ; begin comments.
std::vector<std::string> config_arguments(const std::string& path) {
  constexpr size_t kMostBytes = 1 << 20;
  const Source file(read_text_file(path, kMostBytes), path, kMostBytes);
  auto trimmed = [](std::string_view s) {
    s.remove_prefix(std::min(s.find_first_not_of(" \t"), s.size()));
    return std::string(s.substr(0, s.find_last_not_of(" \t") + 1));
  };
  std::vector<std::string> out;
  const auto lines = int(std::ranges::count(file.text(), '\n')) + 1;
  for (int i = 0; i < lines; ++i) {
    const std::string line = trimmed(file.line(i).substr(0, file.line(i).find_first_of("#;")));
    if (line.empty()) continue;
    const size_t split = line.find_first_of("=:");
    const std::string key = trimmed(line.substr(0, split));
    if (key == "config") fail(ErrorKind::config, file.at(i, 0), ": a file of options cannot name another one");
    out.push_back("--" + key + (split == line.npos ? "" : "=" + trimmed(line.substr(split + 1))));
  }
  return out;
}

}  // namespace

std::vector<std::string> clear_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> given = unambiguous(arguments);
  for (size_t i = 0; i < given.size(); ++i) {
    std::string file;
    if ((given[i] == "-c" || given[i] == "--config") && i + 1 < given.size()) file = given[i + 1];
    else if (given[i].starts_with("--config=")) file = given[i].substr(9);
    else if (given[i].starts_with("-c") && given[i].size() > 2) file = given[i].substr(2);
    if (file.empty()) continue;
    const auto extra = unambiguous(config_arguments(file));
    given.insert(given.begin(), extra.begin(), extra.end());
    break;
  }
  return given;
}

}  // namespace neon
