// SHA-256, through OpenSSL's libcrypto (Debian: libssl-dev), which is loaded for the first sum.
#pragma once
#include <string>
#include <string_view>

namespace neon {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void add(std::string_view bytes);
  std::string hex();  // 64 digits, lower case; ends the sum

 private:
  void* context_;
};

std::string sha256(std::string_view bytes);
// HMAC-SHA256 (RFC 2104), 64 digits: who does not have the key cannot make it.
std::string hmac_sha256(std::string_view key, std::string_view bytes);
std::string sha256_of_file(const std::string& path);  // read in pieces

}  // namespace neon
