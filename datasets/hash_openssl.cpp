#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "datasets/hash_part.h"
#include "neon/core/error.h"

namespace neon {

namespace {

EVP_MD_CTX* context_of(void* sum) { return static_cast<EVP_MD_CTX*>(sum); }

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

void free_sum(void* sum) { EVP_MD_CTX_free(context_of(sum)); }

void* begin_sum() {
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  if (!context) fail(ErrorKind::memory, "no memory for a SHA-256 sum");
  if (EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1) return context;
  free_sum(context);
  fail(ErrorKind::failed, "SHA-256 is not available in this machine's libcrypto");
}

void add_to_sum(void* sum, std::string_view bytes) {
  check(EVP_DigestUpdate(context_of(sum), bytes.data(), bytes.size()));
}

std::string end_sum(void* sum) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  check(EVP_DigestFinal_ex(context_of(sum), digest, &size));
  return hex_digits(digest, size);
}

std::string keyed_sum(std::string_view key, std::string_view bytes) {
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  check(HMAC(EVP_sha256(), key.data(), int(key.size()), reinterpret_cast<const unsigned char*>(bytes.data()),
             bytes.size(), sum, &size) != nullptr);
  return hex_digits(sum, size);
}

const PartRegistration<HashPart> hash_part({begin_sum, add_to_sum, end_sum, free_sum, keyed_sum}, NEON_MODULE_VERSION);

}  // namespace

}  // namespace neon
