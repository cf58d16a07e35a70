// Layers of neon 0.9, but those of images and sequences.
#include "neon/spec/old/old_layers.h"

namespace neon {

OldKeys old_layer_keys(OldKeys own) {
  const OldKeys common = {
      old_word("name"),
      old_word("backend_type"),
      old_idle("prev_layer", "the layer before is the input"),
      old_idle("is_local", "a layer knows whether it is local"),
      old_idle("is_random", "a layer knows whether it draws"),
  };
  return common + own;
}

OldKeys old_weight_keys(OldKeys own) {
  const OldKeys common = {
      old_read("weight_init"),
      old_read("lrule_init"),
      old_read("brule_init"),
      old_value("batch_norm"),
      old_object("activation", "activation", "activation"),
      old_idle("accumulate", "gradients are always complete"),
      old_idle("weight_shape", "shapes follow from the layers"),
      old_idle("bias_shape", "shapes follow from the layers"),
  };
  return old_layer_keys(own + common);
}

namespace {

// 0.9's default: a normal distribution of deviation 0.01, without biases.
Setting usual_old_init(const Location& where) {
  return Setting::map({{"Gaussian", Setting::map({{"scale", Setting::scalar("0.01", where), where}}, where), where}},
                      where);
}

}  // namespace

void finish_old_weights(OldTranslation& t, const OldObject& object, OldResult& out, bool can_have_bias) {
  const Location where = object.node.where();
  const auto init = object.find("weight_init");
  out.set("init", init ? t.object(*init, "initializer") : usual_old_init(where));
  const bool batch_norm = t.truth_of(object, "batch_norm", false);
  const auto bias = init && init->is_map() ? init->find("bias_init") : std::nullopt;
  const bool asks_for_bias = can_have_bias && bias && !bias->is_null();
  // Batch norm takes off the mean of a map, and so a bias of the whole map, but none of each pixel.
  const bool has_bias = asks_for_bias && (!batch_norm || !t.truth_of(object, "shared_bias", true));
  if (asks_for_bias && !has_bias)
    t.remark(where, "no bias beside batch norm: batch norm takes it away with the mean, so no output changes");
  else if (has_bias) out.set("bias", Setting::map({{"Constant", t.plain(*bias), bias->where()}}, bias->where()));
  else if (can_have_bias && !batch_norm && out.name != "RBM")
    t.remark(where, "no bias: 0.9 had biases only where weight_init gives bias_init");
  if (!can_have_bias && bias && !bias->is_null())
    t.remark(where, text("'bias_init' is left out: ", object.kind.name, " adds no bias, as in 0.9"));
  if (batch_norm) {
    out.set("batch_norm", Setting::map({{"eps", Setting::scalar("0.000001", where), where}}, where));
    t.remark(where,
             "batch norm's running statistics begin at 0 and 1 and keep 0.9 of a step to the next; 0.9 began at 0 and "
             "0, kept 0.99, and predicted badly after short runs");
  } else std::erase_if(out.params.entries, [](const auto& entry) { return entry.key == "batch_norm"; });
  const auto rule = object.find("lrule_init"), bias_rule = object.find("brule_init");
  OldLayerRules rules;
  rules.layer = t.name_of(out, where);
  rules.weights = rule && !rule->is_null() ? translate_old_rule(t, *rule) : usual_old_rule(where);
  if (bias_rule && !bias_rule->is_null()) rules.bias = translate_old_rule(t, *bias_rule);
  rules.has_bias = has_bias;
  rules.has_batch_norm = batch_norm;
  if (!rules.bias.is_null() && !rules.has_bias && out.name != "RBM")
    t.remark(bias_rule->where(), "'brule_init' is left out: the layer has no bias");
  if (!out.params.find("share")) t.rules.add(std::move(rules));
  drop_linear(t, out);
}

void drop_linear(OldTranslation& t, OldResult& out) {
  const Setting* const activation = out.params.find("activation");
  t.activation = activation ? std::string(class_of(*activation)) : "";
  if (t.activation == "Identity")
    std::erase_if(out.params.entries, [](const auto& entry) { return entry.key == "activation"; });
}

namespace {

void finish_dense(OldTranslation& t, const OldObject& object, OldResult& out) {
  finish_old_weights(t, object, out, true);
}

void finish_activation(OldTranslation& t, const OldObject& object, OldResult& out) {
  const Setting* const transform = out.params.find("transform");
  t.activation = transform ? std::string(class_of(*transform)) : "";
  if (!transform) out.set("transform", Setting::scalar("Identity", object.node.where()));
}

void finish_plain(OldTranslation&, const OldObject&, OldResult&) {}

// sublayers: a list of layers, each a branch, or a ListLayer with several.
void finish_branches(OldTranslation& t, const OldObject& object, OldResult& out) {
  const auto branches = object.find("sublayers");
  Setting lists = Setting::list({}, branches ? branches->where() : object.node.where());
  for (const OldNode& branch : branches ? branches->items() : std::vector<OldNode>()) {
    Setting layers = Setting::list({}, branch.where());
    const bool is_list = old_class_name(branch.tag()) == "layers.ListLayer";
    const auto inner = is_list ? branch.find("sublayers") : std::nullopt;
    for (const OldNode& layer : inner ? inner->items() : std::vector{branch}) {
      Setting made = t.object(layer, "layer");
      if (!made.is_null()) layers.items.push_back(std::move(made));
    }
    lists.items.push_back(std::move(layers));
  }
  if (lists.items.empty()) t.problem(object.node.where(), "BranchLayer needs a list of sublayers");
  out.set("layers", std::move(lists));
  t.activation.clear();
}

void finish_list(OldTranslation& t, const OldObject& object, OldResult& out) {
  const auto inner = object.find("sublayers");
  Setting layers = Setting::list({}, object.where_of("sublayers"));
  for (const OldNode& layer : inner ? inner->items() : std::vector<OldNode>()) {
    Setting made = t.object(layer, "layer");
    if (!made.is_null()) layers.items.push_back(std::move(made));
  }
  out.set("layers", std::move(layers));
}

// nout, or the maps and sides of an image.
void finish_data_layer(OldTranslation& t, const OldObject& object, OldResult& out) {
  out.name.clear();
  if (!t.truth_of(object, "is_local", false)) {
    if (!object.find("nout"))
      t.problem(object.node.where(), "the data layer needs 'nout', or is_local: True with nofm and ofmshape");
    if (const auto units = t.whole_of(object, "nout")) t.data_shape = {*units};
    return;
  }
  const auto sides = t.integers_of(object, "ofmshape");
  const auto maps = t.whole_of(object, "nofm");
  if (sides.size() != 2 || !maps)
    return t.problem(object.node.where(),
                     "a local data layer needs nofm, its feature maps, and ofmshape: [height, width]");
  t.data_shape = {*maps, sides[0], sides[1]};
}

const OldKeys kDataLayerKeys = {old_word("name"),
                                old_word("backend_type"),
                                old_read("nout"),
                                old_read("is_local"),
                                old_read("nofm"),
                                old_read("ofmshape"),
                                old_idle("has_labels", "the data set knows whether it has labels"),
                                old_idle("batch_size", "the model's counts")};

const OldClasses layers(std::vector<OldClass>{
    {"layers.DataLayer", "data layer", "", kDataLayerKeys, finish_data_layer},
    {"layers.ImageDataLayer", "data layer", "", kDataLayerKeys, finish_data_layer},
    {"layers.FCLayer", "layer", "Affine", old_weight_keys({required(old_value("nout"))}), finish_dense},
    {"layers.ActivationLayer", "layer", "Activation",
     old_layer_keys({old_object("activation", "transform", "activation")}), finish_activation},
    {"layers.DropOutLayer", "layer", "Dropout", old_layer_keys({old_value("keep")}), finish_plain,
     "Dropout: training sets inputs to 0 without a factor, the evaluation multiplies all by keep, as 0.9 did; --caffe "
     "divides in training instead"},
    {"layers.SliceLayer", "layer", "Slice", old_layer_keys({required(old_value("end_idx"))}), finish_plain},
    {"layers.BranchLayer", "layer", "MergeBroadcast", old_layer_keys({required(old_list("sublayers"))}),
     finish_branches},
    {"layers.ListLayer", "layer", "Sequential", old_layer_keys({required(old_list("sublayers"))}), finish_list},
});

}  // namespace

}  // namespace neon
