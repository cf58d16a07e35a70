#include "datasets/hash.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "datasets/file.h"
#include "neon/core/error.h"

namespace neon {

namespace {

EVP_MD_CTX* context_of(void* context) { return static_cast<EVP_MD_CTX*>(context); }

std::string hex_digits(const unsigned char* bytes, unsigned size) {
  std::string out;
  for (unsigned i = 0; i < size; ++i) {
    out += "0123456789abcdef"[bytes[i] >> 4];
    out += "0123456789abcdef"[bytes[i] & 15];
  }
  return out;
}

void check(int code) {
  if (code != 1) fail(ErrorKind::failed, "SHA-256 is not available in this machine's libcrypto");
}

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  if (!context_) fail(ErrorKind::memory, "no memory for a SHA-256 sum");
  if (EVP_DigestInit_ex(context_of(context_), EVP_sha256(), nullptr) != 1) {
    EVP_MD_CTX_free(context_of(context_));
    check(0);
  }
}

Sha256::~Sha256() { EVP_MD_CTX_free(context_of(context_)); }

void Sha256::add(std::string_view bytes) { check(EVP_DigestUpdate(context_of(context_), bytes.data(), bytes.size())); }

std::string Sha256::hex() {
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  check(EVP_DigestFinal_ex(context_of(context_), sum, &size));
  return hex_digits(sum, size);
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  check(HMAC(EVP_sha256(), key.data(), int(key.size()), reinterpret_cast<const unsigned char*>(bytes.data()),
             bytes.size(), sum, &size) != nullptr);
  return hex_digits(sum, size);
}

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
