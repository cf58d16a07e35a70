// Where things of this user are kept.
#pragma once
#include <string>
#include <string_view>

namespace neon {

// The folder in which the program runs; "" when it is gone.
std::string current_dir();

// The user's home folder: HOME, else the password database; "" when neither knows one.
std::string home_dir();

// "~" and "~/x" with the home folder put in; everything else as it is.
std::string expand_home(std::string_view path);

// $NAME and ${NAME} replaced by the environment's values; what it lacks stays as it is.
std::string expand_variables(std::string_view path);

// The folder for what can be fetched or built again: NEON_CACHE_DIR, else XDG_CACHE_HOME/neon, else
// ~/.cache/neon. It need not exist. Throws a config error when there is no home either.
std::string cache_dir();

// Whether the content of that path comes only once: of a pipe or a device, and of "-", which means stdin.
bool is_read_once(const std::string& path);

// Whether a file of that name, there already or not, lies in the folder or below it, with all links followed. False
// where a link leads nowhere: what is written through it could be made anywhere.
bool lies_within(const std::string& path, const std::string& folder);

// first/second, with exactly one slash between them; second alone when it is absolute.
std::string join_path(std::string_view first, std::string_view second);

}  // namespace neon
