// Source of keyed_uniform: a number for each key and column.
#include "backends/cuda/op_writer.h"
#include "backends/graph/ops.h"
#include "neon/core/random.h"

namespace neon::cuda {

namespace {

class KeyedUniformWriter : public OpWriter {
 public:
  using OpWriter::OpWriter;
  Source run() { return source(keyed_uniform()); }

 private:
  std::string keyed_uniform() {
    const int64_t columns = output()[1];
    const auto key = [&](int which) {
      return code_.integer(kernel_.inputs[0], text("k / ", columns, " * 2 + ", which));
    };
    return for_each(output().elements(),
                    put("k", text("uniform(", uint64_t(kernel_.attributes.integer("seed")), "ull, ",
                                  hash_name(kernel_.attributes.string("stream")), "ull, u64(", key(1), "), u64(",
                                  key(0), " * ", columns, " + k % ", columns, "))")));
  }
};

const SourceRegistration keyed_uniform(ops::keyed_uniform, source_by<KeyedUniformWriter>);

}  // namespace

}  // namespace neon::cuda
