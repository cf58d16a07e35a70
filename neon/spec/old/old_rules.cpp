#include "neon/spec/old/old_rules.h"

#include <algorithm>

#include "neon/spec/old/old_translation.h"

namespace neon {

namespace {

using Entry = Setting::Entry;

// A type of rule: the keys of its lr_params and what becomes of them.
struct OldRule {
  std::string_view type, as;
  OldKeys keys;
};

const OldKey kRate = required(old_value("learning_rate"));
const OldKey kMomentum = old_map("momentum_params"), kSchedule = old_map("schedule");
const OldKey kNoDecay = old_idle("weight_decay", "0.9 did not use it in this rule");

const std::vector<OldRule>& old_rules() {
  static const std::vector<OldRule> rules = {
      {"gradient_descent", "GradientDescentMomentum", {kRate, kNoDecay}},
      {"gradient_descent_pretrain",
       "GradientDescentMomentum",
       {kRate, kNoDecay, required(old_read("pretrain_learning_rate"))}},
      {"gradient_descent_momentum", "GradientDescentMomentum", {kRate, kMomentum, kSchedule, kNoDecay}},
      {"gradient_descent_momentum_weight_decay",
       "GradientDescentMomentum",
       {kRate, kMomentum, old_value("weight_decay", "wdecay"), kSchedule}},
      {"adadelta",
       "Adadelta",
       {old_value("rho", "decay"), old_value("epsilon"), old_idle("learning_rate", "Adadelta has none")}},
      {"rmsprop", "RMSProp", {kRate, old_value("gamma", "decay_rate"), old_value("epsilon"), kMomentum, kSchedule}},
  };
  return rules;
}

// The keys of a rule, and those of other rules, which 0.9 did not read: files change the type and leave the rest.
OldKeys with_keys_of_others(const OldRule& rule) {
  OldKeys out = rule.keys;
  OldKeys others = {old_idle("backend_type", "a rule has the type of the net")};
  for (const OldRule& other : old_rules())
    for (const OldKey& key : other.keys) others.push_back(old_idle(key.name, "0.9 did not use it in this rule"));
  for (const OldKey& key : others)
    if (!std::ranges::count(out, key.name, &OldKey::name)) out.push_back(key);
  return out;
}

// Maps within a rule are read as objects whose class has no name.
OldObject keyed_map(const OldNode& node, const OldClass& kind) { return {node, kind}; }

// A number, or a range of a search.
Setting number_at(OldTranslation& t, const OldObject& object, std::string_view key) {
  return t.plain(*object.find(key));
}

const OldClass kOldMomentum{"momentum_params",
                            "",
                            "",
                            {old_word("type"), old_read("coef"), old_read("initial_coef"), old_read("saturated_coef"),
                             old_read("start_epoch"), old_read("saturate_epoch")}};
const OldClass kOldSchedule{"schedule", "", "", {old_word("type"), old_read("ratio"), old_read("step_epochs")}};

void translate_momentum(OldTranslation& t, const OldNode& node, OldResult& out) {
  if (!node.is_map()) return;
  const OldObject given = keyed_map(node, kOldMomentum);
  t.check_keys(given);
  const std::string type = t.word_of(given, "type", "constant");
  const char* const coef = given.find("coef") ? "coef" : "initial_coef";
  const std::string known[] = {"constant", "linear_monotone"};
  if (type == "nesterov")
    return t.problem(
        given.where_of("type"),
        "momentum of type nesterov: 0.9 had only the name; write constant, and nesterov: true in what neon "
        "convert prints");
  if (!std::ranges::count(known, type))
    return t.problem(given.where_of("type"), text(in_quotes(type), " is no type of momentum",
                                                  did_you_mean(type, {std::begin(known), std::end(known)})));
  if (type == "constant") {
    if (given.find(coef)) out.set("momentum_coef", number_at(t, given, coef));
    return;
  }
  for (const char* key : {"initial_coef", "saturated_coef", "start_epoch", "saturate_epoch"})
    if (!given.find(key)) return t.problem(node.where(), text("linear_monotone needs ", in_quotes(key)));
  out.set("momentum_coef", number_at(t, given, "initial_coef"));
  out.set("momentum_end", number_at(t, given, "saturated_coef"));
  out.set("momentum_epochs",
          Setting::list({number_at(t, given, "start_epoch"), number_at(t, given, "saturate_epoch")}, node.where()));
  t.remark(node.where(),
           "linear_monotone: the momentum goes in a line from momentum_coef to momentum_end between the two epochs, "
           "which count from 0");
}

void translate_schedule(OldTranslation& t, const OldNode& node, OldResult& out) {
  if (!node.is_map()) return;
  const OldObject given = keyed_map(node, kOldSchedule);
  t.check_keys(given);
  const std::string type = t.word_of(given, "type", "");
  if (type != "step")
    return t.problem(given.where_of("type"), text(in_quotes(type), " is no schedule of neon 0.9; it had step"));
  for (const char* key : {"ratio", "step_epochs"})
    if (!given.find(key)) return t.problem(node.where(), text("the schedule needs ", in_quotes(key)));
  Setting params = Setting::map({{"step_config", number_at(t, given, "step_epochs"), given.where_of("step_epochs")},
                                 {"change", number_at(t, given, "ratio"), given.where_of("ratio")}},
                                node.where());
  out.set("schedule", Setting::map({{"PowerSchedule", std::move(params), node.where()}}, node.where()));
  t.remark(
      node.where(),
      "the rate changes after every step_config epochs; 0.9 changed it one epoch early, and on GPUs not at all with "
      "momentum");
}

// The optimizer of most layers; of equally many that of the first.
Setting most_frequent(const std::vector<OldLayerRules>& layers) {
  size_t best = 0, most = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto same = size_t(std::ranges::count_if(
        layers, [&](const OldLayerRules& l) { return l.weights.to_string() == layers[i].weights.to_string(); }));
    if (same > most) best = i, most = same;
  }
  return layers[best].weights;
}

const Setting& of_bias(const OldLayerRules& layer) { return layer.bias.is_null() ? layer.weights : layer.bias; }

// All biases' rule, if it is one and not the default.
Setting shared_bias_rule(const std::vector<OldLayerRules>& layers, const std::string& usual) {
  Setting out;
  for (const OldLayerRules& layer : layers) {
    if (!layer.has_bias) continue;
    if (!out.is_null() && out.to_string() != of_bias(layer).to_string()) return {};
    out = of_bias(layer);
  }
  return out.is_null() || out.to_string() == usual ? Setting() : out;
}

}  // namespace

Setting translate_old_rule(OldTranslation& t, const OldNode& node) {
  static const OldClass kRule{
      "a learning rule",
      "",
      "",
      {required(old_word("type")), old_map("lr_params"), old_idle("backend_type", "a rule has the type of the net")}};
  if (!node.is_map())
    return t.problem(node.where(), text("expected {type: ..., lr_params: {...}}, found ", node.describe())), Setting();
  const OldObject rule = keyed_map(node, kRule);
  t.check_keys(rule);
  OldResult none;
  t.use_keys(rule, none);
  const std::string type = t.word_of(rule, "type", "");
  const auto& rules = old_rules();
  const auto found = std::ranges::find(rules, type, &OldRule::type);
  if (found == rules.end()) {
    std::vector<std::string> known;
    for (const OldRule& each : rules) known.emplace_back(each.type);
    t.problem(rule.where_of("type"),
              text(in_quotes(type), " is no learning rule of neon 0.9", did_you_mean(type, known)));
    return {};
  }
  OldResult out{std::string(found->as), Setting::map({}, node.where())};
  const OldClass params_kind{found->type, "", "", with_keys_of_others(*found)};
  const auto given = rule.find("lr_params");
  if (given && given->is_map()) {
    const OldObject params = keyed_map(*given, params_kind);
    t.check_keys(params);
    t.use_keys(params, out);
    if (const auto momentum = params.find("momentum_params");
        momentum && std::ranges::count(found->keys, "momentum_params", &OldKey::name))
      translate_momentum(t, *momentum, out);
    if (const auto schedule = params.find("schedule");
        schedule && std::ranges::count(found->keys, "schedule", &OldKey::name))
      translate_schedule(t, *schedule, out);
  } else if (type != "adadelta" && (!given || given->is_null())) {
    t.problem(node.where(), text(type, " needs lr_params with its learning_rate"));
  }
  if (type == "gradient_descent_pretrain" && given && given->find("pretrain_learning_rate")) {
    const OldObject params = keyed_map(*given, params_kind);
    const Location where = params.where_of("pretrain_learning_rate");
    if (t.pretrains) out.set("learning_rate", number_at(t, params, "pretrain_learning_rate"), where);
    t.remark(where, t.pretrains ? "all phases are pre-training: their rate is pretrain_learning_rate; learning_rate is "
                                  "left out"
                                : "'pretrain_learning_rate' is left out: the model has no phase of pre-training");
  }
  if (type == "rmsprop") {
    if (!out.params.find("decay_rate")) out.set("decay_rate", Setting::scalar("0.9", node.where()));
    out.set("root_epsilon", Setting::scalar("false", node.where()));
    t.remark(node.where(), "RMSProp: epsilon is added outside the root alone, as in 0.9");
  }
  if (out.params.entries.empty()) return Setting::scalar(out.name, node.where());
  return Setting::map({{out.name, std::move(out.params), node.where()}}, node.where());
}

Setting usual_old_rule(const Location& where) {
  Setting params = Setting::map({{"learning_rate", Setting::scalar("0.1", where), where},
                                 {"momentum_coef", Setting::scalar("0.9", where), where}},
                                where);
  return Setting::map({{"GradientDescentMomentum", std::move(params), where}}, where);
}

Setting OldRules::optimizer_of(const std::string& layer, const Location& where) const {
  std::vector<OldLayerRules> own;
  std::ranges::copy_if(layers_, std::back_inserter(own), [&](const OldLayerRules& l) { return l.layer == layer; });
  return optimizer(where, own);
}

Setting OldRules::optimizer(const Location& where, const std::vector<OldLayerRules>& layers) {
  if (layers.empty()) return {};
  const Setting usual = most_frequent(layers);
  const std::string usual_text = usual.to_string();
  const Setting biases = shared_bias_rule(layers, usual_text);
  std::vector<Entry> mapping;
  const auto add = [&](const std::string& name, const Setting& rule) { mapping.push_back({name, rule, rule.where}); };
  if (!biases.is_null()) add("Bias", biases);
  for (const OldLayerRules& layer : layers) {
    const bool other = layer.weights.to_string() != usual_text;
    if (other) add(layer.layer, layer.weights);
    if (other && layer.has_batch_norm) add(layer.layer + "_bnorm", layer.weights);
    const std::string bias = of_bias(layer).to_string();
    if (layer.has_bias && biases.is_null() && bias != usual_text) add(layer.layer + "_bias", of_bias(layer));
  }
  if (mapping.empty()) return usual;
  mapping.insert(mapping.begin(), {"default", usual, usual.where});
  return Setting::map({{"MultiOptimizer", Setting::map(std::move(mapping), where), where}}, where);
}

}  // namespace neon
