// Source of attention and its gradient.
#include "backends/cuda/attention_plan.h"
#include "backends/cuda/code_text.h"
#include "backends/cuda/op_writer.h"
#include "backends/graph/draw_places.h"
#include "backends/graph/ops.h"
#include "neon/core/random.h"

extern const char attention_text[], attention_plain_text[], attention_tensor_text[], attention_tensor_gradient_text[];
extern const unsigned long attention_text_size, attention_plain_text_size, attention_tensor_text_size,
    attention_tensor_gradient_text_size;

namespace neon::cuda {

namespace {

class AttentionWriter {
 public:
  AttentionWriter(const LoweredKernel& kernel, SourceContext& context)
      : kernel_(kernel),
        gradient_(kernel.is(ops::attention_grad)),
        code_(context, DType::f32),
        case_(attention_case(kernel, context.lowered)) {
    const auto plan = plan_attention(case_, context.arch);
    NEON_ASSERT(plan);
    plan_ = *plan;
  }

  Source run() {
    const std::string body = call();
    Source out = kernel_source(code_, DType::f32, declarations(), body, plan_.blocks,
                               text("kThreads, ", plan_.blocks_of_processor));
    out.shared_bytes = plan_.shared_bytes;
    return out;
  }

 private:
  std::string declarations() const {
    const Attributes& a = kernel_.attributes;
    const bool drops = a.has("keep");
    const auto flag = [](bool is) { return is ? "true" : "false"; };
    const std::string_view head(attention_text, attention_text_size),
        plain(attention_plain_text, attention_plain_text_size),
        tensor(attention_tensor_text, attention_tensor_text_size),
        gradient(attention_tensor_gradient_text, attention_tensor_gradient_text_size);
    return text("constexpr int kSamples = ", case_.samples, ", kQueries = ", case_.queries, ", kKeys = ", case_.keys,
                ", kHeads = ", case_.heads, ", kKeyHeads = ", case_.key_heads, ", kSize = ", case_.size,
                ", kRowOfDq = ", case_.dq_row, ", kRowOfDk = ", case_.dk_row, ", kRowOfDv = ", case_.dv_row,
                ";\nconstexpr int kTile = ", plan_.rows, ", kStep = ", plan_.step,
                ";\nconstexpr bool kCausal = ", flag(a.integer("causal") != 0), ", kDrops = ", flag(drops),
                ";\nconstexpr float kScale = ", literal(case_.scale).substr(1),
                ", kKeep = ", literal(drops ? a.real("keep") : 1).substr(1),
                ";\nconstexpr u64 kSeed = ", drops ? uint64_t(a.integer("seed")) : 0,
                "ull, kStream = ", drops ? hash_name(a.string("stream")) : 0,
                "ull, kFirstSample = ", drops && a.has("first") ? a.integer("first") : 0,
                "ull, kDrawsOfSample = ", kDrawsOfSample, "ull, kDrawsOfQuery = ", kDrawsOfQuery, "ull;\n", head,
                plan_.tensor ? tensor : plain, plan_.tensor && gradient_ ? gradient : "");
  }

  std::string pointer(Value value, const char* qualifier) {
    NEON_ASSERT(!code_.row_elements(value));
    const int64_t first = code_.context().lowered.placements[size_t(value.id)].first;
    return text("(", qualifier, device_type(code_.type(value).dtype), "*)", code_.address(value),
                first ? text(" + ", first, "ll") : "");
  }

  std::string call() {
    const size_t given = gradient_ ? 6 : 3;
    std::string length = "[](int) { return kKeys; }";
    if (kernel_.inputs.size() > given)
      length = text("[&](int i) { return smaller(int(", code_.integer(kernel_.inputs[given], "i"), "), kKeys); }");
    const std::string draws = text("Draws{record[", kRecordStep, "]}");
    const auto& in = kernel_.inputs;
    const auto& out = kernel_.outputs;
    if (!gradient_)
      return text("  attention_forward(", pointer(in[0], "const "), ", ", pointer(in[1], "const "), ", ",
                  pointer(in[2], "const "), ", ", length, ", ", pointer(out[0], ""), ", ", pointer(out[1], ""), ", ",
                  draws, ");\n");
    return text("  AttentionGradient<", device_type(case_.dtype), ">{", pointer(in[0], "const "), ", ",
                pointer(in[1], "const "), ", ", pointer(in[2], "const "), ", ", pointer(in[3], "const "), ", ",
                pointer(in[5], "const "), ", ", pointer(in[4], "const "), ", ", pointer(out[0], ""), ", ",
                pointer(out[1], ""), ", ", pointer(out[2], ""), ", ", draws, "}.run(", length, ");\n");
  }

  const LoweredKernel& kernel_;
  const bool gradient_;
  CodeText code_;
  const AttentionCase case_;
  AttentionPlan plan_;
};

const SourceRegistration attention_sources[] = {{ops::attention, source_by<AttentionWriter>},
                                                {ops::attention_grad, source_by<AttentionWriter>}};

}  // namespace

}  // namespace neon::cuda
