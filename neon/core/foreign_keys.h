// Keys and values that other frameworks write: what to write here in their place.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace neon {

// "; write nout" for units; "" where the table has no such key, or nothing among `known` does what it does.
std::string foreign_key_hint(std::string_view key, const std::vector<std::string>& known);

// The one among `known` that such a key means: learning_rate for lr; "" where the table has none.
std::string meant_key(std::string_view key, const std::vector<std::string>& known);

// The name that neon has for such a key, wherever it stands: wdecay for weight_decay; the key itself where the table
// has none.
std::string own_key(std::string_view key);

// For values that are words elsewhere and numbers here: "; write padding: 1 ..." for padding: same; "" else.
std::string foreign_value_hint(std::string_view key, std::string_view value);

}  // namespace neon
