// What a call throws, for tests that assert messages.
#pragma once
#include <string>

#include "neon/core/error.h"

// "" when nothing is thrown; an error of another kind than config is told by its prefix.
template <typename Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const neon::Error& error) {
    return error.kind() == neon::ErrorKind::config ? error.what() : std::string("not config: ") + error.what();
  }
  return "";
}
