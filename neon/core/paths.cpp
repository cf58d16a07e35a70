#include "neon/core/paths.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "neon/core/error.h"

namespace neon {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::string current_dir() {
  std::error_code error;
  return std::filesystem::current_path(error).string();
}

std::string home_dir() {
  if (std::string home = variable("HOME"); !home.empty()) return home;
  const passwd* entry = getpwuid(getuid());
  return entry && entry->pw_dir ? entry->pw_dir : "";
}

std::string expand_home(std::string_view path) {
  if (path != "~" && !path.starts_with("~/")) return std::string(path);
  return home_dir() + std::string(path.substr(1));
}

std::string expand_variables(std::string_view path) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
  std::string out;
  while (!path.empty()) {
    const size_t begin = std::min(path.find('$'), path.size());
    out += path.substr(0, begin);
    path.remove_prefix(begin);
    if (path.empty()) break;
    const bool braced = path.starts_with("${");
    const size_t first = braced ? 2 : 1, end = std::min(path.find_first_not_of(kLetters, first), path.size());
    const bool is_name = end > first && (!braced || (end < path.size() && path[end] == '}'));
    const size_t whole = is_name ? end + braced : 1;
    const std::string value = is_name ? variable(std::string(path.substr(first, end - first)).c_str()) : "";
    out += value.empty() ? std::string(path.substr(0, whole)) : value;
    path.remove_prefix(whole);
  }
  return out;
}

std::string cache_dir() {
  if (std::string own = variable("NEON_CACHE_DIR"); !own.empty()) return expand_home(own);
  // The XDG rules say that a relative path here is to be ignored.
  if (std::string xdg = variable("XDG_CACHE_HOME"); xdg.starts_with('/')) return join_path(xdg, "neon");
  const std::string home = home_dir();
  if (home.empty()) fail(ErrorKind::config, "no folder for cached files: neither NEON_CACHE_DIR nor HOME is set");
  return join_path(home, ".cache/neon");
}

bool is_read_once(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  return path == "-" || (std::filesystem::exists(status) && !is_regular_file(status) && !is_directory(status));
}

bool lies_within(const std::string& path, const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(path, error)) && !fs::exists(path, error)) return false;
  const fs::path base = fs::canonical(folder.empty() ? "." : folder, error);
  if (error) return false;
  const fs::path absolute = fs::absolute(path, error);
  if (error) return false;
  const fs::path real = fs::weakly_canonical(absolute, error);
  return !error && std::ranges::mismatch(base, real).in1 == base.end();
}

std::string join_path(std::string_view first, std::string_view second) {
  if (first.empty() || second.starts_with('/')) return std::string(second);
  std::string out(first);
  if (!out.ends_with('/')) out += '/';
  return out += second;
}

}  // namespace neon
