// A network: the layers of a spec, in order and in branches, and what a graph of them needs from outside.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "models/container.h"
#include "neon/core/setting.h"

namespace neon {

// One row of the layer table. The rows of a container's branches follow its own.
struct LayerRow {
  std::string name, kind;
  Shape output;                        // of one sample
  int64_t parameters = 0, frozen = 0;  // of the parameters these are not trained
  double flops = 0;                    // of one sample, forward; those of a container do not include its branches'
  Location where;
  int depth = 0;        // containers that it stands in
  size_t branch = 0;    // the number of the branch that begins with it, from 1; 0: none does
  Setting params = {};  // with every default
  // The rows whose outputs it takes, of a container the last of each branch; -1: the samples, -2: noise.
  std::vector<int> inputs = {};
  bool container = false;
};

// Layers whose outputs are wanted: of these names, and those of names that may be layers'.
struct WantedLayers {
  std::vector<std::string> named, possible;
};

class Network {
 public:
  // From the `layers` list of a spec; everything wrong is added to `problems`. Names of layers without one begin with
  // `prefix`.
  // `wanted` are layers, beside the last, whose outputs the net gives.
  Network(const Setting& layers, Problems& problems, const std::string& prefix = "", const WantedLayers& wanted = {});

  // x (N, ...) -> the outputs of the last layer. Images are (N,C,H,W), x unless context.data_channels_last, the outputs
  // unless context.outputs_channels_last. Further outputs, those of the branches of a Tree, say, are added to the
  // context; context.output_layers may name the layers whose outputs are wanted in place of all these. Errors show
  // the chain of shapes up to the layer.
  Expr forward(LayerContext& context, Expr x, std::vector<LayerRow>* rows = nullptr) const;

  // The same without the last layer: x in the order of axes that the last layer takes.
  Expr forward_to_last(LayerContext& context, Expr x) const;
  const Link& last() const { return chain_.links.back(); }
  // The samples x with their channels last; a branch of the last layer by itself, on such an x.
  Expr images_in(LayerContext& context, Expr x) const;
  Expr forward_branch(LayerContext& context, size_t branch, Expr x) const;
  // Whether the last layer is the only one.
  bool is_single() const { return chain_.links.size() == 1; }
  // The names of the layers in that branch.
  std::vector<std::string> names_in_branch(size_t branch) const;

  // The layers among `owners`, which have parameters, that come last: of the net, or, where it ends in branches, of
  // each branch.
  std::vector<std::string> last_of(const std::set<std::string>& owners) const;
  // The layer itself if it is among `owners`, else the nearest of these that its input comes through; "" without one.
  std::string owner_behind(const std::string& layer, const std::set<std::string>& owners) const;
  // Those in containers are counted, containers are not.
  int64_t layer_count() const;
  // Whether there are convolutions or attention among them.
  bool has_own_library() const;
  // The widest of its layers.
  Sight sight() const;
  // The first layer whose sight is any, or null. Containers are among them.
  const Link* sees_all_steps() const;
  // A line for each layer with a parameter that has no effect: "layer MultiHeadAttention_0: rotary_base: ...".
  std::vector<std::string> idle_parameters() const;
  // The names of all layers but containers.
  std::vector<std::string> layer_names() const;
  const std::string& end_name() const { return chain_.links.back().name; }
  // Where the spec has the last layer.
  const Location& end() const { return chain_.links.back().where; }
  // The layers with every default filled in.
  Setting resolved() const { return Value_of<Chain>::write(chain_); }

 private:
  Chain chain_;
};

// Gives every layer its name: `name:`, or Class_N, N counting the class's layers in the order of the spec, inside of
// branches too. Names are unique in the net, and `inputs` name layers before.
void name_layers(Chain& chain, Problems& problems, const std::string& prefix = "", const WantedLayers& wanted = {});

// Layers that see no step that follows.
constexpr const char* kBlindToSteps =
    "recurrent layers of one direction, or attention and convolutions with causal: true";

// What `inputs:` calls the samples.
constexpr const char* kDataName = "data";

}  // namespace neon
