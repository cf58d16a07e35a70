// Which archives a path with * ? {a,b} {000..009} means, and what their names say they are for.
#pragma once
#include <string>
#include <vector>

namespace neon {

// Whether it is more than one path.
bool is_pattern(const std::string& path);
// The paths that it means, in order: those that * and ? find, and all that braces name, whether they are there or not;
// where stars beside braces find nothing, the name with its stars.
// Of a folder that is there by a name with such characters, as the spec's may be, they are its name.
std::vector<std::string> expand_pattern(const std::string& pattern);

// An archive of several: where it is, what it is called among them, and what its files are taken to lie in: a folder
// train, test or val, or "", and in that the folders that not all archives lie in, each with a slash.
struct NamedArchive {
  std::string path, name, part, folder;
};
// `part` is said by a folder below what all have in common, else by a word of the archive's name. A data error where
// some names say so and some do not.
std::vector<NamedArchive> name_archives(const std::vector<std::string>& paths, const std::string& common);

// Up to and with the last slash before which all paths agree.
std::string common_folder(const std::vector<std::string>& paths);

}  // namespace neon
