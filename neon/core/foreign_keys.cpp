#include "neon/core/foreign_keys.h"

#include <algorithm>

#include "neon/core/text.h"

namespace neon {

namespace {

// `own` is a key of neon's; `advice` says more than to write it. A word may have several rows: the first whose `own` is
// a key of the place at hand counts.
struct ForeignKey {
  std::string_view foreign, own;
  const char* advice = "";
};
constexpr const char* kKeep = "; write keep, the share of inputs that stays: keep: 0.7 for a rate of 0.3";
constexpr const char* kOfOptimizer = "; the optimizer has it: optimizer: {Adam: {learning_rate: 0.001}}";
constexpr const char* kValidation = "; the data set has it: dataset: {CSV: {path: FILE, validation: 0.1}}";
constexpr const char* kBias = "; write bias: {Constant: 0} for a bias, and leave it out for none";
constexpr const char* kInputs = "; leave it out: the layer before gives the number of inputs";
constexpr const char* kTwoWays = "; the layers BiLSTM, BiGRU and BiRNN read both directions";
constexpr const char* kDeep = "; the list has a layer for each, one below the other";
constexpr const char* kAllSteps = "; leave it out: the layer gives all steps, and RecurrentLast behind it the last one";
constexpr const char* kState = "; leave it out: samples of a text carry states on, and reset_cells: true does without";
constexpr const char* kDrops = "; the layer Dropout does it, behind this one: Dropout: 0.7 for a rate of 0.3";
constexpr const char* kSides = "; leave it out: both directions stand side by side, and the layer BiSum adds them up";
constexpr ForeignKey kForeignKeys[] = {
    {"contrast_normalize", "normalize", "; write augment: [ContrastNormalize] beside dataset"},
    {"units", "nout"},
    {"out_features", "nout"},
    {"num_outputs", "nout"},
    {"num_output", "nout"},
    {"hidden_size", "output_size"},
    {"hidden_size", "hidden"},
    {"hidden_size", "nout"},
    {"units", "output_size"},
    {"num_units", "output_size"},
    {"output_size", "nout"},
    {"in_features", "nout", kInputs},
    {"in_channels", "nofm", kInputs},
    {"input_size", "output_size", kInputs},
    {"input_shape", "nout", kInputs},
    {"input_shape", "nofm", kInputs},
    {"input_shape", "output_size", kInputs},
    {"batch_first", "output_size", "; leave it out: the first axis is the batch"},
    {"bidirectional", "output_size", kTwoWays},
    {"num_layers", "depth"},
    {"num_layers", "output_size", kDeep},
    {"return_sequences", "output_size", kAllSteps},
    {"stateful", "output_size", kState},
    {"merge_mode", "output_size", kSides},
    {"num_embeddings", "vocab_size"},
    {"input_dim", "vocab_size"},
    {"output_dim", "embedding_dim"},
    {"padding_idx", "pad_idx"},
    {"num_heads", "heads"},
    {"n_heads", "heads"},
    {"nhead", "heads"},
    {"step_size", "step_config"},
    {"milestones", "step_config"},
    {"gamma", "change"},
    {"filters", "nofm"},
    {"num_filters", "nofm"},
    {"out_channels", "nofm"},
    {"kernel_size", "fshape"},
    {"kernel", "fshape"},
    {"filter_size", "fshape"},
    {"pool_size", "fshape"},
    {"stride", "strides"},
    {"pad", "padding"},
    {"dilation_rate", "dilation"},
    {"use_bias", "bias", kBias},
    {"bias_initializer", "bias"},
    {"kernel_initializer", "init"},
    {"weight_init", "init"},
    {"act", "activation"},
    {"nonlinearity", "activation"},
    {"rate", "keep", kKeep},
    {"p", "keep", kKeep},
    {"prob", "keep", kKeep},
    {"dropout", "keep", kKeep},
    {"dropout", "output_size", kDrops},
    {"dropout", "nout", kDrops},
    {"dropout", "nofm", kDrops},
    {"recurrent_dropout", "output_size", kDrops},
    {"keep_prob", "keep"},
    {"negative_slope", "slope"},
    {"lr", "learning_rate"},
    {"lr", "optimizer", kOfOptimizer},
    {"eta", "learning_rate"},
    {"learning_rate", "optimizer", kOfOptimizer},
    {"momentum", "momentum_coef"},
    {"momentum", "rho"},
    {"weight_decay", "wdecay"},
    {"l2", "wdecay"},
    {"beta1", "beta_1"},
    {"beta2", "beta_2"},
    {"betas", "beta_1", "; write beta_1 and beta_2"},
    {"eps", "epsilon"},
    {"epsilon", "eps"},
    {"rho", "decay_rate"},
    {"rho", "decay"},
    {"clipnorm", "gradient_clip_norm"},
    {"max_norm", "gradient_clip_norm"},
    {"clipvalue", "gradient_clip_value"},
    {"lr_scheduler", "schedule"},
    {"scheduler", "schedule"},
    {"monitor", "watch"},
    {"loss", "cost"},
    {"criterion", "cost"},
    {"objective", "cost"},
    {"model", "layers"},
    {"net", "layers"},
    {"network", "layers"},
    {"data", "dataset"},
    {"optim", "optimizer"},
    {"solver", "optimizer"},
    {"num_epochs", "epochs"},
    {"max_epochs", "epochs"},
    {"n_epochs", "epochs"},
    {"bs", "batch_size"},
    {"minibatch_size", "batch_size"},
    {"seed", "rng_seed"},
    {"random_seed", "rng_seed"},
    {"random_state", "rng_seed"},
    {"dtype", "datatype"},
    {"precision", "datatype"},
    {"device", "backend"},
    {"transform", "augment"},
    {"transforms", "augment"},
    {"validation_split", "validation"},
    {"validation_split", "dataset", kValidation},
    {"validation", "dataset", kValidation},
    {"folds", "dataset", "; the data set has it: dataset: {CSV: {path: FILE, folds: 5, fold: 1}}"},
    {"subset_pct", "dataset", "; the data set has it: dataset: {CSV: {path: FILE, subset_pct: 10}}"},
};

struct ForeignValue {
  std::string_view key, value;
  const char* advice;
};
constexpr ForeignValue kForeignValues[] = {
    {"padding", "same",
     "; write the number of zeros at each edge: padding: 1 keeps the size for fshape: 3, padding: 2 "
     "for fshape: 5"},
    {"padding", "valid", "; write padding: 0, or leave it out"},
};

// Whether the row has a word for the key: others say which object has it, or that no key is needed.
bool names_it(const ForeignKey& row) {
  const std::string_view advice = row.advice;
  return !advice.starts_with("; the ") && !advice.starts_with("; leave ");
}

// Null where the table has no such key, or nothing among `known` does what it does.
const ForeignKey* row_of(std::string_view key, const std::vector<std::string>& known) {
  for (const ForeignKey& row : kForeignKeys)
    if (row.foreign == lower(key) && std::ranges::count(known, row.own)) return &row;
  return nullptr;
}

}  // namespace

std::string foreign_key_hint(std::string_view key, const std::vector<std::string>& known) {
  const ForeignKey* const row = row_of(key, known);
  if (!row) return "";
  return *row->advice ? row->advice : text("; write ", row->own);
}

std::string meant_key(std::string_view key, const std::vector<std::string>& known) {
  const ForeignKey* const row = row_of(key, known);
  return row && names_it(*row) ? std::string(row->own) : "";
}

std::string own_key(std::string_view key) {
  const auto fits = [&](const ForeignKey& row) { return row.foreign == lower(key) && names_it(row); };
  const auto row = std::ranges::find_if(kForeignKeys, fits);
  return std::string(row == std::end(kForeignKeys) ? key : row->own);
}

std::string foreign_value_hint(std::string_view key, std::string_view value) {
  for (const ForeignValue& row : kForeignValues)
    if (row.key == key && row.value == lower(value)) return row.advice;
  return "";
}

}  // namespace neon
