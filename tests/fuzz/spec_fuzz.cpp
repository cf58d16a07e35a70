// Any text is a spec or a clear error, and a spec can be written and read back.
#include <cstdint>

#include "neon/core/error.h"
#include "neon/spec/spec.h"
#include "neon/spec/yaml.h"
#include "tests/spec/trees.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  neon::Spec spec;
  try {
    spec = neon::spec_from_text({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const neon::Error&) {
    return 0;
  }
  NEON_ASSERT(spec.root.find("layers"));
  NEON_ASSERT(same_tree(spec.root, neon::read_yaml_text(neon::write_yaml(spec.root), "again")));
  return 0;
}
