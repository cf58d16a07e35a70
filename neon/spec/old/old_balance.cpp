// The balanced net of neon 0.9 (Cheung et al. 2014): units that tell the class and units of style, from which the
// sample is reconstructed, with a penalty on what the two groups have in common.
#include "neon/spec/old/old_model.h"

namespace neon {

namespace {

// A layer at which other paths can begin.
struct Fork {
  OldNode node;
  std::string name, activation;
};

// The parameters of a layer, as a map.
Setting& params_of(Setting& layer) {
  if (layer.is_scalar()) layer = Setting::map({{layer.value, Setting::map({}, layer.where), layer.where}}, layer.where);
  Setting& params = layer.entries[0].value;
  if (!params.is_map()) params = Setting::map({}, layer.where);
  return params;
}

void put_first(Setting& layer, const std::string& key, const std::string& value) {
  Setting& params = params_of(layer);
  params.entries.insert(params.entries.begin(), {key, Setting::scalar(value, layer.where), layer.where});
}

std::string name_of_layer(OldTranslation& t, Setting& layer) {
  if (const Setting* const name = params_of(layer).find("name")) return name->value;
  std::string name;
  int number = 0;
  do name = text("balanced", number++);
  while (!t.layer_names.insert(name).second);
  put_first(layer, "name", name);
  return name;
}

bool is_penalty(const OldNode& cost_layer) {
  const auto cost = cost_layer.find("cost");
  return cost && old_class_name(cost->tag()) == "transforms.XCovariance";
}

// Layers, and an output of the net for each cost.
class Balance {
 public:
  Balance(OldTranslation& t, const OldNode& list, int64_t batch) : t_(t), batch_(batch), data_(list.items().front()) {
    layers_ = translate_old_layers(t, list, [&](const OldNode& node, Setting& layers) {
      forks_.push_back({node, name_of_layer(t, layers.items.back()), t.activation});
    });
    if (forks_.empty()) return;
    const OldNode cost = list.items().back();
    add_output(cost, forks_.back().name);
    if (!outputs_.find("sample"))
      t.problem(cost.where(), "the cost of `layers` compares with the samples: it needs ref_label: output");
  }

  // A path that begins at a layer of `layers`, an alias of it, and ends with a cost layer. It may name all layers up to
  // there, from the data layer or another one on.
  void add_path(const OldNode& list, const char* key) {
    std::vector<OldNode> nodes = list.items();
    nodes.erase(nodes.begin(), nodes.begin() + std::ptrdiff_t(layers_before_fork(nodes)));
    const Fork* const fork = nodes.size() < 2 ? nullptr : fork_at(nodes[0]);
    if (!fork)
      return t_.problem(list.where(),
                        text(key,
                             ": expected a list: aliases of the layers in `layers` up to the one at which the "
                             "path begins, or of it alone; further layers; a cost layer"));
    if (is_penalty(nodes.back())) return add_penalty(nodes, *fork, key);
    t_.activation = fork->activation;
    std::string last = fork->name;
    for (size_t i = 1; i + 1 < nodes.size(); ++i) {
      Setting layer = t_.object(nodes[i], "layer");
      if (layer.is_null()) continue;
      const std::string own = name_of_layer(t_, layer);
      if (i == 1) put_first(layer, "inputs", fork->name);
      last = own;
      layers_.items.push_back(std::move(layer));
    }
    add_output(nodes.back(), last);
  }

  void finish(const Location& where, OldResult& out) {
    if (!outputs_.find("class"))
      t_.problem(where, "one of classlayers and stylelayers needs a cost that compares with the labels");
    out.set("layers", std::move(layers_));
    out.set("outputs", std::move(outputs_));
    out.set("optimizer", t_.rules.optimizer(where));
  }

 private:
  const Fork* fork_at(const OldNode& node) const {
    for (const Fork& fork : forks_)
      if (fork.node == node) return &fork;
    return nullptr;
  }

  // How many layers a path names before the one at which it leaves `layers`.
  size_t layers_before_fork(const std::vector<OldNode>& nodes) const {
    size_t at = !nodes.empty() && nodes[0] == data_ ? 1 : 0;
    if (at == 1 && nodes.size() > 1 && fork_at(nodes[1]) != forks_.data()) return 0;
    while (at + 1 < nodes.size() && fork_at(nodes[at]) && fork_at(nodes[at + 1]) == fork_at(nodes[at]) + 1) ++at;
    return at;
  }

  void add_output(const OldNode& cost_layer, const std::string& layer) {
    OldResult made;
    const char* const target = translate_old_cost(t_, cost_layer, data_, made) ? "sample" : "class";
    Setting* const cost = made.params.find("cost");
    if (!cost) return;
    const Location where = cost_layer.where();
    if (outputs_.find(target))
      return t_.problem(where, text("two costs compare with the ", target, "; a net has one for each target"));
    outputs_.where = where;
    Setting output = Setting::map({{"layer", Setting::scalar(layer, where), where}}, where);
    if (cost->is_map()) take_weight(*cost, output);
    output.entries.insert(output.entries.begin(), {"cost", *cost, cost->where});
    outputs_.entries.push_back({target, std::move(output), where});
  }

  // The factor of one of several costs is its weight, in the printed sum, too.
  static void take_weight(Setting& cost, Setting& output) {
    Setting& params = cost.entries[0].value;
    const Setting* const scale = params.find("scale");
    if (!scale) return;
    output.entries.push_back({"weight", *scale, scale->where});
    std::erase_if(params.entries, [](const auto& entry) { return entry.key == "scale"; });
    if (params.entries.empty()) cost = Setting::scalar(cost.entries[0].key, cost.where);
  }

  // The penalty passes its features on, so it stands behind the layer.
  void add_penalty(const std::vector<OldNode>& nodes, const Fork& fork, const char* key) {
    if (nodes.size() > 2)
      return t_.problem(nodes[1].where(), text(key,
                                               ": XCovariance is of the layer at which the path begins, and layers "
                                               "before its cost would learn from nothing else"));
    Setting penalty = t_.object(*nodes.back().find("cost"), "penalty");
    if (penalty.is_null()) return;
    divide_by_batch(penalty);
    for (size_t i = 0; i < layers_.items.size(); ++i)
      if (params_of(layers_.items[i]).find("name") && params_of(layers_.items[i]).find("name")->value == fork.name)
        layers_.items.insert(layers_.items.begin() + std::ptrdiff_t(i) + 1, penalty), i = layers_.items.size();
    t_.remark(nodes.back().where(),
              "XCovariance is a layer behind the units that it penalises; reported costs are without it");
  }

  // 0.9's cost layer divided all costs by the batch size, which the covariances are divided by already.
  void divide_by_batch(Setting& penalty) {
    double scale = 1;
    const Setting* const given = params_of(penalty).find("scale");
    if (given && !detail::read_real(*given, scale))
      return t_.problem(given->where, "scale: expected a number, to be divided by the batch size");
    if (batch_ < 1)
      return t_.remark(penalty.where, "scale: 0.9 divided it by the batch size, which is no one number here");
    std::erase_if(params_of(penalty).entries, [](const auto& entry) { return entry.key == "scale"; });
    const std::string divided = number(scale / double(batch_));
    params_of(penalty).entries.push_back({"scale", Setting::scalar(divided, penalty.where), penalty.where});
    t_.remark(penalty.where,
              text("scale: 0.9's cost layer divided this mean over the batch by the batch size once more: ",
                   number(scale), " / ", batch_, "; the paper has scale: ", number(scale)));
  }

  OldTranslation& t_;
  int64_t batch_;
  OldNode data_;
  std::vector<Fork> forks_;
  Setting layers_, outputs_ = Setting::map({}, {});
};

void finish_balance(OldTranslation& t, const OldObject& object, OldResult& out) {
  const auto layers = object.find("layers"), by_class = object.find("classlayers"), style = object.find("stylelayers");
  if (layers && by_class && style && !layers->items().empty()) {
    t.reconstruct = true;
    int64_t batch = 0;  // of a range of a search
    if (const auto given = object.find("batch_size")) detail::read_integer(given->scalar(), batch);
    Balance net(t, *layers, batch);
    net.add_path(*by_class, "classlayers");
    net.add_path(*style, "stylelayers");
    net.finish(object.node.where(), out);
    t.remark(object.node.where(),
             "a balanced net: the samples are targets beside their labels, and the costs of all paths are added up");
  }
  finish_old_training(t, object, out);
}

const OldClasses balanced(std::vector<OldClass>{
    {"models.Balance", "model", "Balance",
     old_model_keys({required(old_list("classlayers")), required(old_list("stylelayers"))}), finish_balance},
    {"transforms.XCovariance",
     "penalty",
     "XCovariance",
     {required(old_value("blkidx", "split")), old_value("scale"), old_idle("backend_type", "the net's type counts")}},
});

}  // namespace

}  // namespace neon
