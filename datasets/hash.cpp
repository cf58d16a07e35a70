#include "datasets/hash.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "datasets/file.h"
#include "datasets/hash_part.h"
#include "neon/core/error.h"

namespace neon {

Sha256::Sha256() : context_(part<HashPart>().begin()) {}

Sha256::~Sha256() { part<HashPart>().free(context_); }

void Sha256::add(std::string_view bytes) { part<HashPart>().add(context_, bytes); }

std::string Sha256::hex() { return part<HashPart>().end(context_); }

std::string hmac_sha256(std::string_view key, std::string_view bytes) { return part<HashPart>().hmac(key, bytes); }

std::string sha256(std::string_view bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.hex();
}

std::string sha256_of_file(const std::string& path) {
  file_size(path);
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (!file) fail(ErrorKind::data, path, ": ", std::strerror(errno));
  struct Close {
    std::FILE* file;
    ~Close() { std::fclose(file); }
  } close{file};
  Sha256 sum;
  std::string piece(1 << 16, '\0');
  while (const size_t got = std::fread(piece.data(), 1, piece.size(), file))
    sum.add(std::string_view(piece).substr(0, got));
  if (std::ferror(file)) fail(ErrorKind::data, path, ": ", std::strerror(errno));
  return sum.hex();
}

}  // namespace neon
