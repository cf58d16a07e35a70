#include "neon/cli/new_data.h"

#include <algorithm>
#include <filesystem>
#include <regex>

#include "neon/core/nearest_file.h"
#include "neon/spec/override.h"
#include "neon/spec/yaml.h"

namespace neon {

namespace {

// The parameters with what --set makes of them.
Setting changed_set(const CommandLine& line, const char* kind, std::vector<Setting::Entry> params) {
  Setting root = Setting::map({{"dataset", Setting::map({{kind, Setting::map(std::move(params)), {}}}), {}}});
  root.set_paths("");
  Problems problems;
  for (const Override& given : line.overrides) {
    if (!given.assignment.starts_with("dataset."))
      fail(ErrorKind::config, "--set ", given.assignment, ": neon ", line.verb,
           " writes the spec and takes keys of the data set alone, as --set dataset.KEY=VALUE; change the rest in the "
           "spec");
    apply_override(root, given, problems);
  }
  problems.throw_if_any();
  return root.entries[0].value;
}

// "; retry with --set dataset.task=classes or --set dataset.task=regression", of a message that tells
// to say task: classes or task: regression.
std::string retry_hint(const std::string& message) {
  static const std::regex asked("(?:say|give|or) ([a-z_]+): ('[^']*'|[^\\s,;]+)");
  std::vector<std::string> options;
  for (std::sregex_iterator at(message.begin(), message.end(), asked), end; at != end; ++at)
    options.push_back("--set " + shell_word(text("dataset.", (*at)[1].str(), "=", (*at)[2].str())));
  if (options.empty()) return "";
  return "; retry with " + join(options, " or ");
}

[[noreturn]] void fail_missing(const std::string& path) {
  fail(ErrorKind::data, path, ": no such file or folder", nearest_file(path));
}

// A pattern of names is the data set's to look for.
void check_there(const std::string& path, const DataContext& context) {
  const auto is_there = [](const std::string& place) {
    std::error_code ignored;
    return std::filesystem::exists(place, ignored);
  };
  if (path.find_first_of("*{") == path.npos && std::ranges::none_of(context.places_of(path), is_there))
    fail_missing(path);
}

std::string indented(const std::string& lines, size_t width) {
  std::string out;
  for (size_t at = 0, end = 0; at < lines.size(); at = end) {
    end = std::min(lines.find('\n', at), lines.size() - 1) + 1;
    out += std::string(width, ' ') + lines.substr(at, end - at);
  }
  return out;
}

}  // namespace

NewData::NewData(const CommandLine& line, const char* kind, std::vector<Setting::Entry> params,
                 const std::vector<Setting::Entry>& looking)
    : context_(data_context(line.run(), "", 0, warnings_)) {
  const std::string path = params.at(0).value.value;
  check_there(path, context_);
  Setting changed = changed_set(line, kind, std::move(params));
  kind_ = changed.entries.at(0).key;
  for (const Setting::Entry& entry : changed.entries[0].value.entries)
    if (entry.value.where.is_option()) given_.push_back(entry);
  for (const Setting::Entry& entry : looking) {
    Setting& of_set = changed.entries[0].value;
    if (Setting* const value = of_set.find(entry.key)) *value = entry.value;
    else of_set.entries.push_back(entry);
  }
  try {
    set_ = Registry<Dataset>::get().create(changed);
    check_ = set_->check(context_);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::config && error.kind() != ErrorKind::data) throw;
    fail(error.kind(), error.what(), retry_hint(error.what()));
  }
  print_warnings(warnings_);
  if (!check_.found) fail_missing(path);
}

const Setting* NewData::given(std::string_view key) const {
  const auto found = std::ranges::find(given_, key, &Setting::Entry::key);
  return found == given_.end() ? nullptr : &found->value;
}

std::string NewData::spec(const std::vector<Line>& lines) const {
  const auto as_yaml = [](const Setting::Entry& entry) { return write_yaml(Setting::map({entry})); };
  std::string out = text("dataset:\n  ", kind_, ":\n");
  for (const Line& line : lines) {
    const auto found = std::ranges::find(given_, line.key, &Setting::Entry::key);
    out += found != given_.end() ? indented(as_yaml(*found), 4)
                                 : text("    ", line.key, ": ", line.value, line.comment, "\n");
  }
  for (const Setting::Entry& entry : given_)
    if (std::ranges::none_of(lines, [&](const Line& line) { return line.key == entry.key; }))
      out += indented(as_yaml(entry), 4);
  return out;
}

}  // namespace neon
