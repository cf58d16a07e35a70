// One file from one address, by libcurl, in a module of its own: libcurl takes ten milliseconds to load.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "neon/core/part.h"

namespace neon {

struct FetchOrder {
  std::string url;
  const char* protocols;  // "https,http", of redirections, too
  double connect_seconds, stall_seconds, most_seconds;
  int64_t size_cap;                                // bytes
  bool (*take)(void* to, std::string_view bytes);  // false: the rest is not wanted
  void* to;
};

struct FetchOutcome {
  bool came = false;       // whole
  bool broke_off = false;  // after some bytes
  std::string problem;     // in libcurl's words
};

struct FetchPart {
  static constexpr PartName kName = {"curl", "downloads need", "libcurl4-openssl-dev"};
  FetchOutcome (*fetch)(const FetchOrder& order);
};

}  // namespace neon
