#include "backends/cuda/disk_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "neon/core/error.h"
#include "neon/core/paths.h"
#include "neon/core/random.h"
#include "neon/core/text.h"

namespace neon::cuda {

namespace {

std::string hex(uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", (unsigned long long)value);
  return digits;
}

}  // namespace

DiskCache::DiskCache(std::string kind, std::string version) : kind_(std::move(kind)), version_(std::move(version)) {
  try {
    const std::string root = cache_dir();
    folder_ = join_path(root, "cuda");
    for (size_t at = root.find('/', 1); at != root.npos; at = root.find('/', at + 1))
      mkdir(root.substr(0, at).c_str(), 0700);
    mkdir(root.c_str(), 0700);
    mkdir(folder_.c_str(), 0700);
    if (access(folder_.c_str(), W_OK) != 0 && access(folder_.c_str(), R_OK) != 0) folder_.clear();
  } catch (const Error&) {
    folder_.clear();  // no home
  }
}

bool DiskCache::read(const std::string& key, std::string& value) const {
  std::FILE* file = folder_.empty() ? nullptr : std::fopen(path(key).c_str(), "rb");
  if (!file) return false;
  std::string bytes;
  char block[65536];
  for (size_t n; (n = std::fread(block, 1, sizeof block, file)) > 0;) bytes.append(block, n);
  std::fclose(file);
  const size_t line = bytes.find('\n');
  if (line == bytes.npos) return false;
  value = bytes.substr(line + 1);
  return bytes.substr(0, line) == head(key, value);
}

void DiskCache::write(const std::string& key, const std::string& value) const {
  if (folder_.empty()) return;
  const std::string to = path(key), part = text(to, ".", getpid(), ".part");
  std::FILE* file = std::fopen(part.c_str(), "wb");
  if (!file) return;
  const std::string bytes = head(key, value) + "\n" + value;
  const bool whole = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (std::fclose(file) == 0 && whole && std::rename(part.c_str(), to.c_str()) == 0) return;
  std::remove(part.c_str());
}

bool DiskCache::keeps() const { return !folder_.empty() && access(folder_.c_str(), W_OK | X_OK) == 0; }

std::string DiskCache::path(const std::string& key) const {
  const std::string salt = version_ + " ";
  return join_path(folder_, hex(hash_name(salt + key)) + hex(hash_name(key + salt)) + "." + kind_);
}

std::string DiskCache::head(const std::string& key, const std::string& value) const {
  return text("neon ", kind_, " ", version_, " ", key.size(), " ", value.size(), " ", hex(hash_name(value)));
}

}  // namespace neon::cuda
