// MultiOptimizer: other optimizers, chosen by layer.
#include "optimizers/optimizer.h"

namespace neon {

namespace {

struct MultiOptimizerParams {
  std::vector<std::pair<std::string, Made<Optimizer>>> mapping;
  static void describe(auto&& p) {
    p("mapping", &MultiOptimizerParams::mapping,
      "Optimizers by a layer's name or a class (Linear, Convolution, Bias, BatchNorm ...); `default` must be there. "
      "Parts of Affine and Conv are named NAME_bias and NAME_bnorm.",
      Rest{}, Required{}, Alias{"optimizer_mapping"});
  }
};
// A layer's name counts before its class, its class before `default`.
struct MultiOptimizer : Parametrized<Optimizer, MultiOptimizerParams> {
  static constexpr bool kTakesCommon = false;
  explicit MultiOptimizer(MultiOptimizerParams given) : Parametrized(std::move(given)) {
    for (const auto& [name, optimizer] : params.mapping)
      if (!optimizer) fail(ErrorKind::config, "'", name, "' has no optimizer; give one, or leave the name out");
    if (!find("default")) fail(ErrorKind::config, "'default' is missing: the optimizer of layers that are not listed");
  }
  // Clipping and a schedule here would serve nobody.
  void check() const {
    const Schema& schema = schema_of<Common>();
    const Setting given = schema.write(&common);
    for (const Field& field : schema.fields)
      if (given.find(field.name)->to_string() != field.default_value.to_string())
        fail(ErrorKind::config, "'", field.name, "' does nothing here; give it to the optimizers listed");
  }
  double learning_rate() const override { return find("default")->learning_rate(); }
  Expr update(UpdateContext& c) const override { return find("default")->update(c); }
  const Optimizer& serving(const std::string& layer, const std::string& layer_class) const override {
    for (const std::string& key : {layer, layer_class, std::string("default")})
      if (const Optimizer* found = find(key)) return found->serving(layer, layer_class);
    return *this;  // not reached: the default is there
  }
  void change_each(const std::function<void(Optimizer&)>& change) override {
    for (auto& [name, optimizer] : params.mapping) optimizer->change_each(change);
  }
  std::vector<std::string> mentions() const override {
    std::vector<std::string> out;
    for (const auto& [name, optimizer] : params.mapping) {
      if (name != "default") out.push_back(name);
      for (std::string& inner : optimizer->mentions()) out.push_back(std::move(inner));
    }
    return out;
  }

 private:
  const Optimizer* find(const std::string& key) const {
    for (const auto& [name, optimizer] : params.mapping)
      if (name == key) return &*optimizer;
    return nullptr;
  }
};
NEON_REGISTER(
    Optimizer, MultiOptimizer,
    "Different optimizers for different layers: {default: Adam, Affine_1: {RMSProp: {learning_rate: 0.01}}}.");

}  // namespace

}  // namespace neon
