#include "models/check_outputs.h"

namespace neon {

namespace {

int64_t width(Expr x) { return x.shape().slice(1, x.shape().rank()).elements(); }

// What is wanted of the net, and what to do when it has `outputs`.
std::string wanted(const LayerContext& context, const DataLayout& data, Expr x, int64_t targets, int64_t outputs) {
  if (data.target_is_input)
    return text("a sample, which is its own target, is ", context.sample_shape(x), ", ", targets, " numbers");
  if (data.classes == 0) return text("a target of the data set has ", targets, "; give the last layer that many");
  const std::string line = text("the data set has ", data.classes, " classes");
  if (outputs == width(x)) return line + "; for an autoencoder give the data set `autoencoder: true`";
  return text(line, "; give the last layer ", data.classes, " outputs");
}

}  // namespace

void check_outputs(const Network& network, const LayerContext& context, const DataLayout& data, Expr x, Expr t,
                   Expr y) {
  std::vector<Expr> outputs = {y};
  outputs.insert(outputs.end(), context.more_outputs.begin(), context.more_outputs.end());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int64_t count = width(outputs[i]), targets = width(t);
    if (count == targets) continue;
    const std::string place = network.end().to_string();
    const std::string which = i == 0 ? "the last layer" : text("branch ", i, " of the Tree");
    fail(ErrorKind::config, place, place.empty() ? "" : ": ", which, " has ", count,
         count == 1 ? " output" : " outputs", ", but ", wanted(context, data, x, targets, count),
         "; shapes: ", context.shapes);
  }
}

}  // namespace neon
