#include "datasets/read_limits.h"

#include <algorithm>
#include <filesystem>

#include "neon/core/error.h"
#include "neon/core/paths.h"
#include "neon/core/text.h"

namespace neon {

namespace {

namespace fs = std::filesystem;

constexpr int kMostDepth = 20;  // of folders, as in a store of images

// Absolute, without "." and doubled slashes. ".." stays, since a link may stand before it.
fs::path plain_absolute(const std::string& path) {
  fs::path out;
  for (const fs::path& part : fs::path(join_path(current_dir(), path)))
    if (part != "." && !part.empty()) out /= part;
  return out;
}

// Whether `place` begins with `folder`, as written, and what follows does not lead up again.
bool is_written_below(const std::string& place, const std::string& folder) {
  const fs::path whole = plain_absolute(place), base = plain_absolute(folder);
  const auto [rest, end] = std::ranges::mismatch(whole, base);
  return end == base.end() && std::find(rest, whole.end(), "..") == whole.end();
}

// The first link below a folder for which `leads_out` holds; "" without one.
std::string link_out_of(const std::string& folder, auto&& leads_out) {
  std::error_code error;
  const auto options = fs::directory_options::follow_directory_symlink;
  for (fs::recursive_directory_iterator at(folder, options, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    const std::string path = at->path().string();
    if (at->is_symlink(ignored) && leads_out(path)) return path;
    if (at.depth() >= kMostDepth) at.disable_recursion_pending();
  }
  if (error) fail(ErrorKind::data, printable(folder), ": cannot be read: ", error.message());
  return "";
}

}  // namespace

bool ReadLimits::is_named(const std::string& place) const {
  return std::ranges::any_of(named, [&](const std::string& folder) { return is_written_below(place, folder); });
}

bool ReadLimits::allow(const std::string& place) const {
  const auto holds = [&](const std::string& folder) { return lies_within(place, folder); };
  return is_named(place) || std::ranges::any_of(own, holds) || std::ranges::any_of(named, holds);
}

void ReadLimits::check(const std::string& place, const std::string& path) const {
  if (!allow(place)) refuse(place, path, place);
  std::error_code ignored;
  if (is_named(place) || !fs::is_directory(place, ignored)) return;
  const std::string link = link_out_of(place, [&](const std::string& one) {
    std::error_code error;
    return fs::exists(one, error) && !allow(one);  // a link to nothing cannot be read
  });
  if (!link.empty()) refuse(place, path, link);
}

void ReadLimits::refuse(const std::string& place, const std::string& path, const std::string& link) const {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(plain_absolute(link), error);
  const std::string leads = error ? std::string() : text(" leads to ", in_quotes(real.string()));
  const std::string folder = fs::is_directory(real, error) ? real.string() : real.parent_path().string();
  const auto key = keys.find(path);
  fail(ErrorKind::config, printable(asks), " names the data ", in_quotes(place),
       link != place                   ? text(", in which ", in_quotes(link), leads)
       : real != plain_absolute(place) ? "," + leads
                                       : "",
       ", outside its own folder and the current one; to read it, give -w ", shell_word(folder),
       key == keys.end() ? "" : text(" or --set ", shell_word(text(key->second, "=", place))));
}

}  // namespace neon
