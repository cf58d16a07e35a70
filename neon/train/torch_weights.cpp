#include "neon/train/torch_weights.h"

#include <algorithm>
#include <set>

#include "neon/core/message.h"
#include "neon/train/checkpoint.h"
#include "neon/train/checkpoint_verify.h"
#include "neon/train/file_lock.h"
#include "neon/train/torch_graph.h"
#include "neon/train/torch_layout.h"
#include "neon/train/torch_places.h"

namespace neon {

namespace {

Tensor scaled(const Tensor& values, double factor) {
  if (factor == 1) return values;
  Tensor out = values.clone();
  for (int64_t i = 0; i < out.elements(); ++i) out.set(i, values.at(i) * factor);
  return out;
}

class Conversion {
 public:
  Conversion(const TensorFile& file, const std::string& path, const TakingNet& net)
      : file_(file), path_(path), net_(net), modules_(torch_modules(file)), places_(places_of(net.graph)) {
    std::set<std::string> owners;
    for (const Parameter& p : net.graph.parameters) owners.insert(p.owner);
    const std::vector<std::string> last = net.network.last_of(owners);
    last_.insert(last.begin(), last.end());
    take_prefix();
    pair();
  }

  TensorFile run(std::vector<std::string>& messages) {
    TensorFile out;
    out.path = path_;
    for (const Place& place : places_)
      if (const Tensor* const stored = stored_for(place))
        out.tensors.push_back({place.name, converted(place, *stored)});
    for (const auto& [name, module] : modules_)
      for (const auto& [part, tensor] : module.parts)
        if (!used_.contains(tensor)) out.tensors.push_back({name.empty() ? part : name + "." + part, *tensor});
    if (moved_ != 0)
      messages.push_back(text("note: the running variances of ", path_, " are taken to be for an eps of ", epsilon_,
                              ", as PyTorch's are; the net adds ", moved_ + epsilon_,
                              ", so the variances become less by ", moved_));
    if (!order_warning_.empty()) messages.push_back(order_warning_);
    if (!prefix_.empty()) messages.push_back(text("note: names in ", path_, " are taken without ", in_quotes(prefix_)));
    add_warnings(messages);
    return out;
  }

 private:
  int64_t layers_found() const {
    return std::ranges::count_if(places_, [&](const Place& place) { return stored_for(place) != nullptr; });
  }

  // By names; by order where names find fewer than half of the arrays and each layer of a module's name gets this
  // module. A layer of another name among many that are found begins anew.
  void pair() {
    const std::optional<TorchOrder> order = torch_order(modules_);
    if (order) epsilon_ = order->epsilon;
    const int64_t found = layers_found();
    if (!order && found == 0) no_module();
    if (!order || !finds_few(found)) return;
    std::vector<Place> ordered = places_;
    try {
      pair_in_order(ordered, modules_, *order, last_, path_);
    } catch (const Error& error) {
      if (!any_fits()) throw;
      warn_of_order(error.what());
      return;
    }
    const bool agrees = std::ranges::equal(places_, ordered, [&](const Place& by_name, const Place& by_order) {
      const Tensor* const named = stored_for(by_name);
      return !named || named == stored_for(by_order);
    });
    if (agrees) places_ = std::move(ordered);
    else warn_of_order(text("these names contradict the order of torchvision's ", order->family));
  }

  bool finds_few(int64_t found) const { return found < int64_t(places_.size()) - found; }

  void warn_of_order(const std::string& why) {
    order_warning_ = text("warning: only layers with the name of a module take weights: ", why);
  }

  bool any_fits() const {
    return std::ranges::any_of(places_, [&](const Place& place) {
      const Tensor* const stored = stored_for(place);
      return stored && stored->shape() == place.shape;
    });
  }

  // Wrappers of a net put their name before all others: module. of DataParallel, model. of Lightning. Where no layer
  // has the name of a module, that prefix goes without which most layers have, or one of all modules in the order of a
  // family.
  void take_prefix() {
    if (layers_found() > 0 || torch_order(modules_)) return;
    const std::map<std::string, TorchModule> whole = modules_;
    std::string best;
    int64_t most = 0;
    for (const std::string& prefix : prefixes_of(whole)) {
      modules_ = without_prefix(whole, prefix);
      const bool of_all = std::ranges::all_of(whole, [&](const auto& each) { return each.first.starts_with(prefix); });
      const int64_t found = layers_found() > 0 ? layers_found() : of_all && torch_order(modules_) ? 1 : 0;
      if (found > most) most = found, best = prefix;
    }
    modules_ = without_prefix(whole, best);
    prefix_ = best;
  }

  const Tensor* stored_for(const Place& place) const {
    if (place.part.empty()) return nullptr;
    for (const std::string& name : place.modules) {
      const auto module = modules_.find(name);
      if (module == modules_.end()) continue;
      if (const Tensor* const found = module->second.find(place.part)) return found;
    }
    return nullptr;
  }

  Tensor converted(const Place& place, const Tensor& stored) {
    used_.insert(&stored);
    if (!is_floating(stored.dtype()))
      fail(ErrorKind::data, path_, ": ", name_in_file(stored), " is of ", stored.dtype(),
           ", expected f32, f16, bf16 or f64");
    const bool fits = stored.shape() == place.shape;
    if (!fits && !last_.contains(place.owner)) other_shape(place, stored);
    if (fits && place.is_variance) return moved(place, stored);
    if (fits && place.is_mean) return without_bias(place, stored);
    return place.parameter ? laid_out(place, *place.parameter, stored) : stored;
  }

  // As the net's arrays lie; of another shape, where the layer begins anew, only for the message.
  Tensor laid_out(const Place& place, const Parameter& p, const Tensor& stored) const {
    const Graph& graph = net_.graph.graph;
    if (lie_transposed(graph, p))
      fail(ErrorKind::config, path_, ": ", place.name,
           " lies (nin, nout) by `transpose: true`, which PyTorch has not; ",
           "leave `transpose` out, or give the layer another name");
    if (stored.shape() != place.shape)
      return are_filters(p) && stored.shape().rank() == place.shape.rank() ? with_filter_channels_last(stored) : stored;
    if (p.is_split())
      fail(ErrorKind::config, path_, ": ", place.name, " is split over devices, and weights of PyTorch's modules are ",
           "taken by whole layers; take them in a run with one device (-s), and begin this one with its checkpoint");
    if (!are_filters(p) && p.layer_class != "Linear") return stored;
    const std::optional<Shape> images =
        are_filters(p) ? std::nullopt : images_before(graph, p, net_.data_channels_last);
    const Tensor laid = are_filters(p) ? with_filter_channels_last(stored)
                        : images       ? with_columns_channels_last(stored, *images)
                                       : stored;
    return scaled(laid, 1 / kept_before(graph, p));
  }

  // The variance with which the net's eps gives what the file's gives with its own.
  Tensor moved(const Place& place, const Tensor& stored) {
    const double more = epsilon_of(net_.graph.graph, place.gamma).value_or(epsilon_) - epsilon_;
    if (more == 0) return stored;
    moved_ = more;
    Tensor out = stored.converted(DType::f64);
    for (int64_t i = 0; i < out.elements(); ++i) out.set(i, stored.at(i) - more);
    return out;
  }

  // The running mean for weights that have no bias here, and have one in the file.
  Tensor without_bias(const Place& place, const Tensor& stored) {
    auto weights = std::ranges::find(places_, place.owner + "/W", &Place::name);
    if (weights == places_.end())
      weights = std::ranges::find(places_, weights_before(net_.graph.graph, place.gamma, place.name), &Place::name);
    if (weights == places_.end() || has_bias(*weights)) return stored;
    const Tensor* const bias = bias_beside(*weights);
    if (!bias || bias->shape() != stored.shape() || !is_floating(bias->dtype())) return stored;
    used_.insert(bias);
    Tensor out = stored.converted(DType::f64);
    for (int64_t i = 0; i < out.elements(); ++i) out.set(i, stored.at(i) - bias->at(i));
    return out;
  }

  bool has_bias(const Place& weights) const {
    return std::ranges::any_of(places_,
                               [&](const Place& each) { return each.unit == weights.unit && each.part == "bias"; });
  }

  // The bias of the module that the weights come from; null: none.
  const Tensor* bias_beside(const Place& weights) const {
    for (const std::string& name : weights.modules)
      if (const auto module = modules_.find(name); module != modules_.end() && module->second.find("weight"))
        return module->second.find("bias");
    return nullptr;
  }

  // Differences to PyTorch's net that no array makes up for.
  void add_warnings(std::vector<std::string>& messages) const {
    for (const Place& place : places_)
      if (const Tensor* const bias =
              place.part == "weight" && stored_for(place) && !has_bias(place) ? bias_beside(place) : nullptr;
          bias && !used_.contains(bias) && !last_.contains(place.owner))
        messages.push_back(text("warning: ", place.unit, " has no bias here, so its outputs are not PyTorch's: ",
                                name_in_file(*bias), " of ", path_, " is not used; write `bias: {Constant: 0}`"));
    if (const int64_t count = dropouts_elsewhere(net_.graph.graph, net_.graph.parameters))
      messages.push_back(
          text("warning: ", count == 1 ? "a Dropout stands" : text(count, " Dropouts stand"),
               " not right before Conv or Affine. An evaluation multiplies by keep, which PyTorch's does ",
               "not, so outputs differ; move Dropout there"));
  }

  [[noreturn]] void other_shape(const Place& place, const Tensor& stored) const {
    fail(ErrorKind::config, path_, " does not fit the net: ", name_in_file(stored), " is ", stored.shape(),
         " in the file, and ", place.name, " of the net would be ", place.shape,
         " there; a layer of another name begins ", "anew");
  }

  [[noreturn]] void no_module() const {
    std::vector<std::string> names;
    for (const auto& [name, module] : modules_) names.push_back(name);
    fail(ErrorKind::config, path_, " has weights of PyTorch's modules, and no layer has the name of one; give layers ",
         "the names of their modules, as in `name: ", names.front(), "`. The modules are ", list_text(names),
         ". Without such names neon knows the order of torchvision's ", torch_families());
  }

  std::string name_in_file(const Tensor& stored) const {
    return std::ranges::find_if(file_.tensors, [&](const NamedTensor& each) { return &each.tensor == &stored; })->name;
  }

  const TensorFile& file_;
  const std::string& path_;
  const TakingNet& net_;
  std::map<std::string, TorchModule> modules_;
  std::vector<Place> places_;
  std::set<std::string> last_;
  std::set<const Tensor*> used_;
  std::string order_warning_;
  std::string prefix_;  // that names in the file have before those of modules
  double epsilon_ = kTorchEpsilon, moved_ = 0;
};

// Whether the file at `path` is a sound .safetensors file of PyTorch's tensors, and no checkpoint.
bool is_of_torch(const std::string& path) try {
  const SafetensorsReader reader(path);
  if (reader.header().metadata.contains(kFormatKey)) return false;
  std::vector<std::string> names;
  for (const TensorEntry& entry : reader.header().entries) names.push_back(entry.name);
  return are_torch_names(names);
} catch (const Error&) {
  return false;  // load_checkpoint() says what is wrong
}

// Whether torch.save wrote the file, by the ends of names that are usual for that.
bool is_pickled(const std::string& path) {
  return path.ends_with(".pth") || path.ends_with(".pt") || path.ends_with(".bin");
}

}  // namespace

TensorFile load_weights(const std::string& given, const TakingNet& net, std::vector<std::string>& messages) try {
  const std::string path = follow_links(given);
  if (!is_of_torch(path)) {
    std::vector<std::string> warnings;
    TensorFile out = load_checkpoint(given, warnings);
    for (const std::string& warning : warnings) messages.push_back("warning: " + warning);
    return out;
  }
  const TensorFile file = read_safetensors(path);
  return Conversion(file, given, net).run(messages);
} catch (const Error& error) {
  if (error.kind() != ErrorKind::data || !is_pickled(given)) throw;
  fail(ErrorKind::data, error.what(),
       "; in Python, `safetensors.torch.save_file(net.state_dict(), \"net.safetensors\")` writes PyTorch's weights so");
}

}  // namespace neon
