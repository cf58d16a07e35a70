// Which archives a path with * ? {a,b} {000..009} means, and what their names say they are for.
#pragma once
#include <string>
#include <vector>

namespace neon {

// Whether it is more than one path.
bool is_pattern(const std::string& path);
// The paths that the pattern means, in order: all that * and ? find, and all that braces name, existing or not. If
// stars beside braces find nothing, the name stays with its stars. An existing folder may have such characters in its
// name, as the spec's folder may: they are then no pattern.
std::vector<std::string> expand_pattern(const std::string& pattern);

// An archive among several: its place, its name among them, and the folders that its files are taken to lie in. `part`
// is train, test or val, or "". `folder` has the folders below it that not all archives lie in, each with a slash.
struct NamedArchive {
  std::string path, name, part, folder;
};
// A folder below the common folder gives `part`, or else a word of the archive's name. A data error if only some names
// give a part.
std::vector<NamedArchive> name_archives(const std::vector<std::string>& paths, const std::string& common);

// Up to and with the last slash before which all paths agree.
std::string common_folder(const std::vector<std::string>& paths);

}  // namespace neon
