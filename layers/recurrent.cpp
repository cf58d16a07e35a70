// Layers of recurrent cells over the steps of sequences, from the first step to the last. The state begins at 0, or
// goes on from the batch before.
#include "layers/cells.h"
#include "layers/default_init.h"
#include "neon/core/counted.h"

namespace neon {

namespace {

struct Recurrent : Parametrized<Layer, CellParams> {
  explicit Recurrent(CellParams given) : Parametrized(std::move(given)) {
    params.init = init_or_default(params.init, WeightUse::product);
  }
  Expr forward(LayerContext& context, Expr x) const override {
    check_sequence(context, x, "Recurrent");
    return states_of(context, {CellType::recurrent, params, nullptr, context.layer}, x);
  }
  bool takes_tokens() const override { return true; }
};
NEON_REGISTER(
    Layer, Recurrent,
    "A recurrent layer over sequences (T,F): h = activation(W_input x + W_recur h + b) for each step, h being "
    "the state of the step before, at first 0.",
    {"RNN"});

struct OneWayParams : GatedCellParams {
  std::vector<double> gate_bias;
  static void describe(auto&& p) {
    GatedCellParams::describe(p);
    p("gate_bias", &OneWayParams::gate_bias,
      "First value of the biases of each gate, as gate_bias: [1, -1, 1, 0]: i, f, o and g of an LSTM, r, z and n of a "
      "GRU. Default: those of bias.");
  }
};

// One value for the units of each gate. A spec cannot name it.
class GateBiases : public Initializer {
 public:
  explicit GateBiases(std::vector<double> values) : values_(std::move(values)) {}
  const void* params_address() const override { return &values_; }
  // t (G H)
  void fill(Tensor& t, const Fan&, Stream&) const override {
    const int64_t units = t.elements() / int64_t(values_.size());
    for (int64_t i = 0; i < t.elements(); ++i) t.set(i, values_[size_t(i / units)]);
  }

 private:
  std::vector<double> values_;
};

template <CellType type>
struct Gated : Parametrized<Layer, OneWayParams> {
  static constexpr size_t kGates = type == CellType::lstm ? 4 : 3;
  explicit Gated(OneWayParams given) : Parametrized(std::move(given)), gate_biases_(params.gate_bias) {
    params.init = init_or_default(params.init, WeightUse::product);
    if (params.gate_bias.empty()) return;
    if (params.bias) fail(ErrorKind::config, "bias and gate_bias are both given; leave one of them out");
    if (params.gate_bias.size() != kGates)
      fail(ErrorKind::config, "gate_bias has ", counted(int64_t(params.gate_bias.size()), "number"), ", expected ",
           kGates, ", one for each gate");
  }
  Expr forward(LayerContext& context, Expr x) const override {
    check_sequence(context, x, type == CellType::lstm ? "LSTM" : "GRU");
    const Activation* gate = params.gate_activation ? &*params.gate_activation : nullptr;
    Cells cells{type, params, gate, context.layer};
    if (!params.gate_bias.empty()) cells.gate_bias = &gate_biases_;
    return states_of(context, cells, x);
  }
  bool takes_tokens() const override { return true; }

 private:
  GateBiases gate_biases_;
};
const Registration<Layer, Gated<CellType::lstm>> lstm_registration{
    "LSTM",
    "Long short-term memory over sequences (T,F). The rows of W_input, W_recur and b are of the gates i, f, o, g, in "
    "this order; c = f c + i g, h = o activation(c). No peepholes; c and h begin at 0.",
    {}};
const Registration<Layer, Gated<CellType::gru>> gru_registration{
    "GRU",
    "Gated recurrent unit over sequences (T,F). The rows of W_input, W_recur and b are of the gates r, z, n, in this "
    "order; n = activation(W_input x + W_recur (r h) + b), h = (1 - z) h + z n. The state begins at 0.",
    {}};

}  // namespace

}  // namespace neon
