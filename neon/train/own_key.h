// Tells a user's own checkpoints from those of others.
//
// Each user has a secret key: 64 hex digits in the file own-key of the cache folder, which only that user can read. A
// checkpoint has a seal, "neon.seal", the HMAC-SHA256 of its spec and options with the key of the user whose run wrote
// it. Somebody else can copy a seal, but not make one for other paths.
#pragma once
#include <string>

namespace neon {

// Makes the key unless it is there. Where that fails, the checkpoints of this user have no seal.
void make_own_key();

// The seal of a spec and options, as a checkpoint's metadata have them; "" without a key.
std::string own_seal(const std::string& spec, const std::string& options);

}  // namespace neon
