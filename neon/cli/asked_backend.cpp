#include "neon/cli/asked_backend.h"

#include "neon/core/error.h"

namespace neon {

namespace {

std::string backend_named(const std::string& name) { return name == "cpu" || name == "mkl" ? "cpu" : "gpu"; }

}  // namespace

std::string asked_backend(const BackendWords& words, const std::string& where) {
  std::string out, by;
  auto ask = [&](const char* option, const std::string& value, const std::string& backend) {
    if (value.empty()) return;
    const std::string said = text(option, ' ', value);
    if (!out.empty() && out != backend)
      fail(ErrorKind::config, where, by, " and ", said, " contradict each other: one asks for the CPU, the other for ",
           "a GPU; leave one out");
    out = backend, by = said;
  };
  ask("-b", words.backend, backend_named(words.backend));
  ask("-g", words.gpu, backend_named(words.gpu));
  ask("-i", words.device_id, "gpu");  // who names a GPU wants it
  return out;
}

}  // namespace neon
