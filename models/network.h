// A network: the layers of a spec in order, and what a graph of them needs from outside.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "layers/layer.h"
#include "neon/core/setting.h"

namespace neon {

// One row of the layer table.
struct LayerRow {
  std::string name, kind;
  Shape output;  // of one sample
  int64_t parameters = 0;
  double flops = 0;  // of one sample, forward
  Location where;
};

class Network {
 public:
  // From the `layers` list of a spec; everything wrong is added to `problems`.
  Network(const Setting& layers, Problems& problems);

  // x (N, ...) -> the outputs of the last layer; both images in the order of axes that the data set has, (N,C,H,W)
  // unless context.data_channels_last. Errors show the chain of shapes up to the layer.
  Expr forward(LayerContext& context, Expr x, std::vector<LayerRow>* rows = nullptr) const;

  int64_t layer_count() const { return int64_t(layers_.size()); }
  // The layers with every default filled in.
  Setting resolved() const;
  // Names that a MultiOptimizer may mention are checked against these.
  std::vector<std::string> layer_names() const;

 private:
  struct Entry {
    std::unique_ptr<Layer> layer;
    std::string name, kind;
    Setting resolved;
    Location where;
  };
  std::vector<Entry> layers_;
};

}  // namespace neon
