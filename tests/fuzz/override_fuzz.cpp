// Any overrides, one a line, change the spec to one that can be written and read back, or are a clear error.
#include <cstdint>
#include <string>
#include <vector>

#include "neon/core/error.h"
#include "neon/spec/spec.h"
#include "neon/spec/yaml.h"
#include "tests/spec/trees.h"

namespace {

const char* const kSpec =
    "layers:\n"
    "- Affine: {nout: 100, name: fc1, init: {Gaussian: {scale: 0.01}}}\n"
    "- Repeat: {times: 2, layers: [{Conv: {nofm: 8, name: c}}]}\n"
    "- MergeSum: [[{Affine: 5}], [SkipNode]]\n"
    "- Dropout:\n"
    "- Activation: Softmax\n"
    "cost: CrossEntropyMulti\n"
    "optimizer: {GradientDescentMomentum: {learning_rate: 0.1}}\n"
    "batch_size: 128\n";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<neon::Override> overrides(1, "");
  for (size_t i = 0; i < size && overrides.size() < 8; ++i) {
    if (data[i] == '\n') overrides.emplace_back("");
    else overrides.back().assignment += char(data[i]);
  }
  neon::Spec spec;
  try {
    spec = neon::spec_from_text(kSpec, "fuzz", overrides);
  } catch (const neon::Error& error) {
    NEON_ASSERT(error.kind() == neon::ErrorKind::config);
  }
  NEON_ASSERT(same_tree(spec.root, neon::read_yaml_text(neon::write_yaml(spec.root), "again")));
  return 0;
}
