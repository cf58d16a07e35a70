// Boltzmann machines and belief nets of neon 0.9.
#include <algorithm>

#include "neon/spec/old/old_model.h"

namespace neon {

namespace {

void finish_machine(OldTranslation& t, const OldObject& object, OldResult& out) {
  const Setting* const activation = out.params.find("activation");
  if (activation && class_of(*activation) != "Logistic")
    t.problem(object.where_of("activation"),
              "the units of an RBM are logistic; write transforms.Logistic, or no activation");
  if (t.truth_of(object, "batch_norm", false))
    t.problem(object.where_of("batch_norm"), "an RBM takes no batch_norm; leave it out");
  std::erase_if(out.params.entries, [](const auto& entry) { return entry.key == "activation"; });
  finish_old_weights(t, object, out, true);
  t.activation = "Logistic";
  std::erase_if(out.params.entries, [](const auto& entry) { return entry.key == "batch_norm"; });
  t.remark(object.node.where(),
           "an RBM has biases of visible and hidden units, which begin at 0 unless bias_init is given");
}

// The layers of a list; one for the data and one for a cost may stand around the machines.
Setting machines(OldTranslation& t, const OldNode& list) {
  Setting out = Setting::list({}, list.where());
  const std::vector<OldNode> nodes = list.items();
  for (const OldNode& node : nodes) {
    const OldClass* const kind = find_old_class(old_class_name(node.tag()));
    const std::string_view category = kind ? kind->category : "layer";
    if (category == "cost layer") {
      t.remark(node.where(), "the cost layer is left out: contrastive divergence trains without a cost");
      continue;
    }
    Setting layer = t.object(node, category == "data layer" ? category : "layer");
    if (!layer.is_null()) out.items.push_back(std::move(layer));
  }
  if (out.items.empty()) t.problem(list.where(), "layers: expected at least one layers.RBMLayer");
  return out;
}

void finish_machines(OldTranslation& t, const OldObject& object, OldResult& out) {
  const Location where = object.node.where();
  if (const auto list = object.find("layers")) out.set("layers", machines(t, *list), list->where());
  out.set("rule", Setting::scalar("ContrastiveDivergence", where));
  out.set("optimizer", t.rules.optimizer(where));
  translate_old_saving(t, object);
  t.remark(where,
           "contrastive divergence with one step of Gibbs sampling, as 0.9 meant it; 0.9 could not run it from a file");
}

void finish_rbm(OldTranslation& t, const OldObject& object, OldResult& out) {
  finish_machines(t, object, out);
  const Setting* const layers = out.params.find("layers");
  const auto is_machine = [](const Setting& layer) { return class_of(layer) == "RBM"; };
  if (layers && std::ranges::count_if(layers->items, is_machine) > 1)
    t.problem(object.node.where(),
              "models.RBM trains its last machine alone; write models.DBN, which trains several, one after the other");
}

// Machines of different rules: each phase trains its own, and knows no later one. The spec's optimizer is the last's.
void give_own_optimizers(OldTranslation& t, const Setting& machines, Setting& phases, OldResult& out) {
  Setting* const all = out.params.find("optimizer");
  if (!all || class_of(*all) != "MultiOptimizer") return;
  for (size_t i = 0; i < phases.items.size(); ++i) {
    const Setting* const name = machines.items[i].entries[0].value.find("name");
    if (!name) return;
    Setting own = t.rules.optimizer_of(name->value, all->where);
    if (i + 1 == phases.items.size()) *all = std::move(own);
    else phases.items[i].entries.push_back({"optimizer", std::move(own), all->where});
  }
}

// One phase for each machine, over those below it.
void finish_dbn(OldTranslation& t, const OldObject& object, OldResult& out) {
  t.pretrains = true;
  finish_machines(t, object, out);
  const Setting* const layers = out.params.find("layers");
  const Setting* const epochs = out.params.find("epochs");
  if (!layers || !epochs) return;
  const Location where = layers->where;
  Setting phases = Setting::list({}, where);
  for (size_t i = 0; i < layers->items.size(); ++i) {
    std::vector<Setting::Entry> phase = {{"name", Setting::scalar(text("machine ", i + 1), where), where},
                                         {"epochs", *epochs, epochs->where}};
    if (i + 1 < layers->items.size()) {
      const auto end = layers->items.begin() + std::ptrdiff_t(i) + 1;
      phase.push_back({"layers", Setting::list({layers->items.begin(), end}, where), where});
    }
    phases.items.push_back(Setting::map(std::move(phase), where));
  }
  give_own_optimizers(t, *layers, phases, out);
  std::erase_if(out.params.entries, [](const auto& entry) { return entry.key == "epochs"; });
  out.set("phases", std::move(phases));
  t.remark(where,
           "a belief net: the machines are trained one after the other; 0.9 had no phase that tunes the whole net");
}

// The samples are the targets, of the model's own cost or of a cost layer.
void finish_autoencoder(OldTranslation& t, const OldObject& object, OldResult& out) {
  const auto layers = object.find("layers"), cost = object.find("cost");
  const bool has_cost_layer = layers && ends_with_old_cost(*layers);
  if (has_cost_layer) {
    finish_old_model(t, object, out);
    if (cost) t.remark(cost->where(), "'cost' is left out: the cost layer has one");
  } else {
    if (layers) out.set("layers", translate_old_layers(t, *layers, {}, OldCostLayer::missing), layers->where());
    if (cost && !cost->is_null()) out.set("cost", t.object(*cost, "cost"), cost->where());
    else t.problem(object.node.where(), "models.Autoencoder needs 'cost', or a cost layer at the end of its layers");
    out.set("optimizer", t.rules.optimizer(object.node.where()));
    finish_old_training(t, object, out);
  }
  t.autoencoder = true;
  t.remark(object.node.where(),
           "an autoencoder: the samples are the targets, as 0.9 meant it; 0.9 could not run models.Autoencoder any "
           "more");
}

const OldClasses unsupervised(std::vector<OldClass>{
    {"layers.RBMLayer", "layer", "RBM",
     old_weight_keys({required(old_value("nout")), old_idle("nin", "shapes follow from the layers")}), finish_machine},
    {"models.RBM", "model", "RBM",
     old_model_keys({old_idle("cost", "contrastive divergence trains without a cost"),
                     old_idle("temp_dtype", "sums have the type of the net")}),
     finish_rbm},
    {"models.Autoencoder", "model", "Autoencoder", old_model_keys({old_read("cost")}), finish_autoencoder},
    {"models.DBN", "model", "DBN", old_model_keys({old_idle("cost", "contrastive divergence trains without a cost")}),
     finish_dbn},
});

}  // namespace

}  // namespace neon
