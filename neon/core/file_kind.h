// The kind of a file, by its first bytes: people save an error page, or give data in place of a checkpoint.
#pragma once
#include <string>
#include <string_view>

namespace neon {

// "an HTML page", "a gzip file", "a Python pickle" ...; "" where nothing is recognised.
std::string looks_like(std::string_view head);

// "; it looks like an HTML page" or "".
std::string looks_like_clause(std::string_view head);

}  // namespace neon
