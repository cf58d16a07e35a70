// Any text is a spec or a clear error; what was read can be written and read back.
#include <cstdint>

#include "neon/core/error.h"
#include "neon/spec/spec.h"
#include "neon/spec/yaml.h"
#include "tests/spec/trees.h"

namespace {

void check_round_trip(const neon::Setting& root) {
  NEON_ASSERT(same_tree(root, neon::read_yaml_text(neon::write_yaml(root), "again")));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Each within its own try: what the checks themselves throw is a find.
  neon::Setting tree;
  neon::Spec spec;
  try {
    tree = neon::read_yaml_text(text, "fuzz");
  } catch (const neon::Error& error) {
    NEON_ASSERT(error.kind() == neon::ErrorKind::config);
  }
  try {
    spec = neon::spec_from_text(text, "fuzz");
  } catch (const neon::Error& error) {
    NEON_ASSERT(error.kind() == neon::ErrorKind::config);
  }
  check_round_trip(tree);
  check_round_trip(spec.root);
  return 0;
}
