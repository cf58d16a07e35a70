// Fetching a file with libcurl (Debian: libcurl4-openssl-dev): from the first of several mirrors that has it,
// with its SHA-256 known beforehand. The file appears whole and checked under its name, or not at all.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace neon {

struct Download {
  std::vector<std::string> urls;  // tried in this order
  std::string path;               // where it is to be; its folders are made
  std::string sha256;             // 64 hex digits
  int64_t size_cap = 0;           // bytes; more is refused while it comes
  double connect_seconds = 3;     // for connecting, over all mirrors together
  double stall_seconds = 20;      // with less than 1 KB a second for so long, a mirror is given up
  double least_rate = 32'768;     // bytes a second that the whole file must come at, or a mirror is given up
  bool https_only = true;         // false is for tests on 127.0.0.1
};

// Does nothing when the file is there with the right sum; a file with another sum is left and is an error.
// Two processes that want the same file take turns (a lock file beside it). Throws ErrorKind::data, one line
// with what each mirror answered.
void download(const Download& what);

}  // namespace neon
