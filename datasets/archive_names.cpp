#include "datasets/archive_names.h"

#include <glob.h>

#include <algorithm>
#include <charconv>

#include "datasets/file.h"
#include "datasets/image_samples.h"
#include "datasets/part_names.h"

namespace neon {

namespace {

constexpr size_t kMostPaths = 1'000'000;

// -1: no number.
int64_t number_of(std::string_view digits) {
  int64_t out = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return error == std::errc() && rest == digits.data() + digits.size() && out >= 0 ? out : -1;
}

// The texts between braces, one by one: "000..009" counts, "a,b" lists. Empty: `inner` does neither.
std::vector<std::string> choices_of(std::string_view inner) {
  std::vector<std::string> out;
  if (const size_t dots = inner.find(".."); dots != inner.npos) {
    const std::string_view low = inner.substr(0, dots);
    const int64_t first = number_of(low), last = number_of(inner.substr(dots + 2));
    if (first < 0 || last < first || last - first >= int64_t(kMostPaths)) return {};
    for (int64_t i = first; i <= last; ++i) {
      std::string digits = std::to_string(i);
      digits.insert(0, low.size() - std::min(low.size(), digits.size()), '0');
      out.push_back(std::move(digits));
    }
    return out;
  }
  if (inner.find(',') == inner.npos) return {};
  for (size_t first = 0; first <= inner.size();) {
    const size_t comma = std::min(inner.find(',', first), inner.size());
    out.emplace_back(inner.substr(first, comma - first));
    first = comma + 1;
  }
  return out;
}

// The text before `from` stays as it is. Braces do not nest.
void expand_braces(const std::string& pattern, size_t from, std::vector<std::string>& out) {
  const size_t open = pattern.find('{', from), close = pattern.find('}', std::min(open, pattern.size()));
  if (close == pattern.npos) {
    out.push_back(pattern);
    return;
  }
  const auto choices = choices_of(std::string_view(pattern).substr(open + 1, close - open - 1));
  if (choices.empty())
    fail(ErrorKind::data, printable(pattern), ": expected {first,second} or {000..009} between braces");
  for (const std::string& choice : choices) {
    expand_braces(pattern.substr(0, open) + choice + pattern.substr(close + 1), open + choice.size(), out);
    if (out.size() > kMostPaths) fail(ErrorKind::data, printable(pattern), ": means more than ", kMostPaths, " files");
  }
}

// Brackets are names here, not sets of letters, and so is all before `from`.
std::vector<std::string> matches_of(const std::string& pattern, size_t from) {
  std::string literal;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (std::string_view(i < from ? "[\\*?" : "[\\").find(pattern[i]) != std::string_view::npos) literal += '\\';
    literal += pattern[i];
  }
  glob_t found{};
  std::vector<std::string> out;
  if (glob(literal.c_str(), 0, nullptr, &found) == 0) out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return out;
}

// How much of a pattern, up to and with a slash, names folders that are there by that very name.
size_t existing_folders(const std::string& pattern) {
  size_t out = 0;
  for (size_t slash = pattern.find('/'); slash != pattern.npos; slash = pattern.find('/', out)) {
    if (slash > 0 && !folder_exists(pattern.substr(0, slash))) break;
    out = slash + 1;
  }
  return out;
}

// Takes the first folder that says a part out of `folders`, each with a slash; "" where none does.
std::string take_part(std::string& folders) {
  for (size_t first = 0; first < folders.size();) {
    const size_t slash = folders.find('/', first);
    const std::string folder = folders.substr(first, slash - first);
    if (part_named(folder) >= 0) {
      folders.erase(first, slash + 1 - first);
      return folder;
    }
    first = slash + 1;
  }
  return "";
}

// Folders that all archives lie in say nothing of one.
void leave_out_common_folders(std::vector<NamedArchive>& archives) {
  std::vector<std::string> folders;
  for (const NamedArchive& archive : archives) folders.push_back(archive.folder);
  const size_t common = common_folder(folders).size();
  for (NamedArchive& archive : archives) archive.folder.erase(0, common);
}

}  // namespace

bool is_pattern(const std::string& path) { return path.find_first_of("*?{") != path.npos; }

std::vector<std::string> expand_pattern(const std::string& pattern) {
  const size_t plain = existing_folders(pattern);
  std::vector<std::string> names, out;
  expand_braces(pattern, plain, names);
  for (const std::string& name : names) {
    const bool has_stars = name.find_first_of("*?", plain) != name.npos;
    const auto found = has_stars ? matches_of(name, plain) : std::vector{name};
    std::ranges::copy(found, std::back_inserter(out));
    // A name from braces stays even without a match, so that the caller misses it, whatever stars it has.
    if (found.empty() && names.size() > 1) out.push_back(name);
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::string common_folder(const std::vector<std::string>& paths) {
  std::string out = paths.front().substr(0, paths.front().rfind('/') + 1);
  for (const std::string& path : paths)
    while (!path.starts_with(out)) out.erase(out.size() < 2 ? 0 : out.rfind('/', out.size() - 2) + 1);
  return out;
}

std::vector<NamedArchive> name_archives(const std::vector<std::string>& paths, const std::string& common) {
  std::vector<NamedArchive> out;
  const std::string* saying = nullptr;
  const std::string* silent = nullptr;
  for (const std::string& path : paths) {
    std::string name = path.substr(common.size());
    const size_t own = name.rfind('/') + 1;
    std::string folder = name.substr(0, own), part = take_part(folder);
    if (part.empty()) part = part_word(name.substr(own));
    (part.empty() ? silent : saying) = &path;
    out.push_back({path, std::move(name), std::move(part), std::move(folder)});
  }
  if (saying && silent)
    fail(ErrorKind::data, printable(*silent), ": its name has no train, val or test, unlike ", printable(*saying),
         "; put one of them into the names of all archives, or of none");
  leave_out_common_folders(out);
  return out;
}

}  // namespace neon
