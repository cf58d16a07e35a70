// Source of recurrent cells over all steps, and of their gradients, as one kernel each.
#include "backends/cuda/code_text.h"
#include "backends/cuda/op_source.h"
#include "backends/cuda/recurrent_plan.h"
#include "backends/graph/ops.h"

extern const char recurrence_text[], recurrence_plain_text[], recurrence_tensor_text[], tensor_tile_text[], lstm_text[],
    gru_text[], simple_cell_text[];
extern const unsigned long recurrence_text_size, recurrence_plain_text_size, recurrence_tensor_text_size,
    tensor_tile_text_size, lstm_text_size, gru_text_size, simple_cell_text_size;

namespace neon::cuda {

namespace {

class CellWriter {
 public:
  CellWriter(const LoweredKernel& kernel, SourceContext& context)
      : kernel_(kernel),
        kind_(*cell_kind(*kernel.op)),
        code_(context, DType::f32),
        cell_(cell_case(kind_, context.lowered.graph, kernel.inputs)) {
    const auto plan = plan_cell(cell_, context.processors, context.arch, context.tf32);
    NEON_ASSERT(plan);
    plan_ = *plan;
  }

  Source run() {
    const std::string body = call();
    Source out = kernel_source(code_, DType::f32, declarations(), body, plan_.blocks(), "kThreads, 1");
    out.partial_bytes = size_t(plan_.teams * plan_.exchanged) * size_of(cell_.dtype);
    out.tickets = int(3 + plan_.teams);
    out.shared_bytes = plan_.shared_bytes;
    return out;
  }

 private:
  std::string declarations() const {
    const std::string_view head(recurrence_text, recurrence_text_size), tile(tensor_tile_text, tensor_tile_text_size),
        tensor(recurrence_tensor_text, recurrence_tensor_text_size),
        plain(recurrence_plain_text, recurrence_plain_text_size);
    const std::string_view function = kind_.function;
    const std::string_view cell = function.starts_with("lstm") ? std::string_view(lstm_text, lstm_text_size)
                                  : function.starts_with("gru")
                                      ? std::string_view(gru_text, gru_text_size)
                                      : std::string_view(simple_cell_text, simple_cell_text_size);
    const auto flag = [](bool is) { return is ? "true" : "false"; };
    return text("constexpr int kSamples = ", cell_.samples, ", kSteps = ", cell_.steps, ", kUnits = ", cell_.units,
                ", kOwn = ", plan_.own, ", kTeam = ", plan_.team, ", kBatch = ", plan_.batch,
                ", kSlots = ", plan_.slots, ", kSegment = ", plan_.segment, ", kTerms = ", plan_.terms,
                ";\nconstexpr bool kInOrder = ", flag(plan_.in_order),
                ", kReverse = ", flag(kernel_.attributes.integer("reverse") != 0), ", kPadded = ", flag(is_padded()),
                ";\n", head, plan_.terms ? text(tile, tensor) : std::string(plain), cell);
  }

  // The gradient by the states c, that of an lstm.
  bool has_state_gradient() const { return kernel_.is(ops::lstm_grad) && kernel_.attributes.integer("state_gradient"); }
  bool is_padded() const { return kernel_.inputs.size() > kind_.given + has_state_gradient(); }

  std::string pointer(Value value, const char* qualifier) {
    NEON_ASSERT(!code_.row_elements(value));
    return text("(", qualifier, device_type(code_.type(value).dtype), "*)", code_.address(value));
  }

  // A row of the elementwise table of one operand, as a function of x; its derivative, of g and the result y.
  std::string value_of(const char* function) {
    Instruction value;
    value.dtype = code_.type(kernel_.inputs[0]).dtype;
    value.op = find_op(kernel_.attributes.string(function));
    value.inputs = {0};
    return text("[](R x) -> R { return ", code_.call(value, [](int) { return std::string("x"); }), "; }");
  }
  std::string slope_of(const char* function) {
    Instruction slope;
    slope.dtype = code_.type(kernel_.inputs[0]).dtype;
    const std::string& row = kernel_.attributes.string(function);
    slope.op = find_op(row + "'0");
    for (const char operand : derivative_inputs(*find_op(row)->row, 0)) slope.inputs.push_back(operand == 'y');
    return text("[](R g, R y) -> R { return ", code_.call(slope, [](int i) { return std::string(i ? "y" : "g"); }),
                "; }");
  }

  std::string call() {
    std::string out = text("  ", kind_.function, "<", plan_.inner_parts, ">(");
    for (size_t i = 0; i < kind_.given + has_state_gradient(); ++i) out += pointer(kernel_.inputs[i], "const ") + ", ";
    if (kernel_.is(ops::lstm_grad) && !has_state_gradient()) out += "(const float*)nullptr, ";
    if (is_padded()) out += text("[&](i64 i) { return int(", code_.integer(kernel_.inputs.back(), "i"), "); }, ");
    else out += "[](i64) { return kSteps; }, ";
    for (Value value : kernel_.outputs) out += pointer(value, "") + ", ";
    out += "partials, ticket";
    if (kind_.gate) out += ", " + (kind_.gradient ? slope_of("gate") : value_of("gate"));
    if (kind_.activation) out += ", " + value_of("activation");
    if (kind_.gradient) out += ", " + slope_of("activation");
    return out + ");\n";
  }

  const LoweredKernel& kernel_;
  const CellKind& kind_;
  CodeText code_;
  const CellCase cell_;
  CellPlan plan_;
};

Source cell_source(const LoweredKernel& kernel, SourceContext& context) { return CellWriter(kernel, context).run(); }

const SourceRegistration cells[] = {{ops::recurrent, cell_source}, {ops::recurrent_grad, cell_source},
                                    {ops::lstm, cell_source},      {ops::lstm_grad, cell_source},
                                    {ops::gru, cell_source},       {ops::gru_grad, cell_source}};

}  // namespace

}  // namespace neon::cuda
