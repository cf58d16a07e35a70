// Files that verbs write, beside those of a run (run_files.h). None replaces a file that neon did not write, unless
// --overwrite is given.
#pragma once
#include <string>
#include <string_view>

namespace neon {

struct CommandLine;

// Throws a config error where an option names a file to write that the verb reads, with --overwrite, too. Runs have
// check_files_differ().
void check_spares_inputs(const CommandLine& line);
// The same for -o where all files of a folder on the line are samples.
void check_spares_texts(const CommandLine& line);

// Throws a data error where a file or folder of that name is there.
void check_free(const std::string& path, bool overwrite);

// For outputs of which a newer one replaces an older one: throws a data error where a file is there that neither is
// empty nor begins with `begin`, as a WHAT does: "t.json exists and is no profile of neon bench; ...".
void check_replaceable(const std::string& path, std::string_view begin, const std::string& what, bool overwrite);

// Whether a file may be lost to a checkpoint: it has weights, perhaps another program's or damaged, or nothing, or is
// not there. A photo or a spec is no such file.
bool may_be_checkpoint(const std::string& path);

// Writes a file, whole or not at all, and makes the folders on the way to it.
void write_output(const std::string& path, std::string_view content);

}  // namespace neon
