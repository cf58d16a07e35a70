// The sums of hash.h as libcrypto makes them, in a module of its own: libcrypto takes a millisecond to load.
#pragma once
#include <string>
#include <string_view>

#include "neon/core/part.h"

namespace neon {

struct HashPart {
  static constexpr PartName kName = {"crypto", "SHA-256 sums need", "libssl-dev"};
  void* (*begin)();
  void (*add)(void* sum, std::string_view bytes);
  std::string (*end)(void* sum);  // 64 digits; the sum is still to be freed
  void (*free)(void* sum);
  std::string (*hmac)(std::string_view key, std::string_view bytes);
};

}  // namespace neon
