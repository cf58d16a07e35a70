// Parts that all layers of recurrent cells share: parameters, weights, and the steps of a cell over a sequence.
#pragma once
#include "layers/layer.h"
#include "layers/linear.h"
#include "transforms/activation.h"

namespace neon {

enum class CellType { recurrent, lstm, gru };

struct CellParams {
  int64_t output_size = 0;
  Made<Initializer> init, init_inner, bias;
  Made<Activation> activation;
  bool reset_cells = false;
  static void describe(auto&& p) {
    p("output_size", &CellParams::output_size, "Number of units: the state, and the output of a step, has so many.",
      at_least(1), Required{}, Alias{"nout"});
    p("init", &CellParams::init,
      "Initializer of the weights, which fills those of each gate by themselves. Default: GlorotUniform.",
      Alias{"weight_init"});
    p("init_inner", &CellParams::init_inner, "Initializer of the weights of the state. Default: init.");
    p("bias", &CellParams::bias, "Initializer of the biases, as in bias: {Constant: 1}. Default: 0.");
    p("activation", &CellParams::activation, "Activation of the state. Default: Tanh.");
    p("reset_cells", &CellParams::reset_cells,
      "Whether the state begins at 0 in each batch. Otherwise it goes on from the batch before, where the data set "
      "gives pieces that go on, as Text does. A text that neon sample makes keeps the state in any case.");
  }
};

struct GatedCellParams : CellParams {
  Made<Activation> gate_activation;
  static void describe(auto&& p) {
    CellParams::describe(p);
    p("gate_activation", &GatedCellParams::gate_activation, "Activation of the gates. Default: Logistic.");
  }
};

// One direction of one layer of cells.
struct Cells {
  CellType type;
  const CellParams& params;
  const Activation* gate;                  // null: Logistic
  std::string name;                        // of the parameters NAME/W_input (G H,F), NAME/W_recur (G H,H), NAME/b (G H)
  bool reverse = false;                    // from the last step to the first
  BatchNormChoice batch_norm = {};         // of the products with the inputs, NAME_bnorm, in place of the biases
  const Initializer* gate_bias = nullptr;  // of all gates' biases at once, in place of params.bias
};

// x (N,T,F) or tokens (N,T) -> the states (N,T,H), from the carried states or zeros on. Tokens are vectors that are 1
// at the token and 0 elsewhere. Throws a config error where x is no sequence.
Expr states_of(LayerContext& context, const Cells& cells, Expr x);

// Throws a config error that names the remedy where x is no sequence.
void check_sequence(const LayerContext& context, Expr x, const std::string& layer);

}  // namespace neon
