// Numbers as text: little-endian bytes in base64 (RFC 4648).
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace neon {

std::string base64(std::string_view bytes);

// The values, stored as T.
template <typename T>
std::string base64_of(const std::vector<double>& values) {
  std::vector<T> stored(values.begin(), values.end());
  return base64({reinterpret_cast<const char*>(stored.data()), stored.size() * sizeof(T)});
}

}  // namespace neon
