#include "models/check_outputs.h"

#include <algorithm>

namespace neon {

namespace {

int64_t width(Expr x) { return x.shape().slice(1, x.shape().rank()).elements(); }

// How outputs y become that many, maps, (N,C,H,W), above all.
std::string mend(Expr y, int64_t targets) {
  const Shape maps = y.shape().slice(1, y.shape().rank());
  if (std::ranges::count_if(maps, [](int64_t size) { return size > 1; }) < 2)
    return text(", as Affine: {nout: ", targets, "}");
  return text(": these are maps ", maps, ", so end with Affine: {nout: ", targets,
              "}, by itself or after Pooling: {fshape: all, op: avg}");
}

// What is wanted of the net, and what to do when its outputs are y.
std::string wanted(const LayerContext& context, const DataLayout& data, Expr x, int64_t targets, Expr y) {
  if (data.target_is_input)
    return text("a sample, which is its own target, is ", context.sample_shape(x), ", ", targets, " numbers");
  const std::string mended = mend(y, targets);
  if (data.classes == 0)
    return text("a target of the data set has ", targets, "; give the last layer that many", mended);
  const std::string line = text("the data set has ", data.classes, " classes");
  if (width(y) == width(x)) return line + "; for an autoencoder give the data set `autoencoder: true`";
  return text(line, "; give the last layer ", data.classes, " outputs", mended);
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
         count == 1 ? " output" : " outputs", ", but ", wanted(context, data, x, targets, outputs[i]),
         "; shapes: ", context.shapes);
  }
}

}  // namespace neon
