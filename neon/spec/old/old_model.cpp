// Models of neon 0.9: lists of layers, and how long and how they are trained.
#include "neon/spec/old/old_model.h"

#include <algorithm>

#include "neon/core/params.h"
#include "neon/spec/old/old_squares.h"

namespace neon {

OldKeys old_model_keys(OldKeys own) {
  return own + OldKeys{
                   required(old_list("layers")),
                   required(old_value("batch_size")),
                   old_value("num_epochs", "epochs"),
                   old_word("serialized_path"),
                   old_word("deserialized_path"),
                   old_read("serialize_schedule"),
                   old_read("save_checkpoints"),
                   old_idle("overwrite_list", "0.9 did not read it"),
                   old_idle("step_print", "progress is shown all the time"),
                   old_idle("accumulate", "gradients are always complete"),
                   old_idle("reuse_deltas", "memory is planned"),
                   old_idle("timing_plots", "0.9 did not use it; neon bench measures times"),
                   old_holder("batch_norm"),
                   old_holder("backend_type"),
                   old_holder("learning_rate"),
                   old_holder("shortcut_deriv"),
                   old_holder("lrule"),
                   old_holder("lrules"),
                   old_holder("lrule_init"),
                   old_holder("weight_init"),
                   old_holder("weight_inits"),
               };
}

namespace {

std::string old_category(const OldNode& node) {
  const OldClass* const kind = find_old_class(old_class_name(node.tag()));
  return kind ? std::string(kind->category) : "";
}

}  // namespace

// A cost compares the output with the labels, or with the samples.
bool translate_old_cost(OldTranslation& t, const OldNode& node, const OldNode& data, OldResult& out) {
  const OldClass* const kind = t.class_of(node, "cost layer");
  if (!kind) return false;
  const OldObject layer{node, *kind};
  t.check_keys(layer);
  OldResult none;
  t.use_keys(layer, none);
  const auto reference = layer.find("ref_layer");
  if (reference && !(*reference == data))
    t.problem(reference->where(),
              "ref_layer is not the data layer in `layers`; a cost compares with the samples or their labels");
  const std::string label = t.word_of(layer, "ref_label", "targets");
  const bool of_samples = label == "output" || label == "inputs";
  if (!of_samples && label != "targets" && label != "labels")
    t.problem(layer.where_of("ref_label"),
              text(in_quotes(label), " is nothing that a data layer has; it has targets, labels and output"));
  const std::string category = t.word_of(layer, "category_label", "l_id");
  if (category != "l_id")
    t.problem(layer.where_of("category_label"),
              text("category_label ", in_quotes(category), ": a sample has one label here; the nearest is l_id"));
  if (const auto cost = layer.find("cost")) out.set("cost", t.object(*cost, "cost"), cost->where());
  return of_samples;
}

bool ends_with_old_cost(const OldNode& list) {
  const std::vector<OldNode> nodes = list.items();
  return !nodes.empty() && old_category(nodes.back()) == "cost layer";
}

Setting translate_old_layers(OldTranslation& t, const OldNode& list, const AfterOldLayer& after, OldCostLayer cost) {
  const std::vector<OldNode> nodes = list.items();
  Setting layers = Setting::list({}, list.where());
  const bool with_cost = cost == OldCostLayer::needed;
  const size_t end = nodes.size() - (with_cost && !nodes.empty() ? 1 : 0);
  if (end < 2 || old_category(nodes.front()) != "data layer" || with_cost != ends_with_old_cost(list)) {
    t.problem(list.where(), text("layers: expected a list that begins with a data layer",
                                 with_cost ? " and ends with a cost layer" : ""));
    return layers;
  }
  t.object(nodes.front(), "data layer");
  t.data_where = nodes.front().where();
  OldSizes sizes = old_data_sizes(t);
  for (size_t i = 1; i < end; ++i) {
    Setting layer = t.object(nodes[i], "layer");
    if (layer.is_null()) continue;
    sizes = add_behind(t, std::move(layer), sizes, nodes[i].where(), layers);
    if (after) after(nodes[i], layers);
  }
  t.starts_local = !layers.items.empty() && is_old_local(layers.items[0]);
  return layers;
}

namespace {

void translate_layers(OldTranslation& t, const OldNode& list, OldResult& out) {
  Setting layers = translate_old_layers(t, list);
  if (layers.items.empty()) return;
  const std::vector<OldNode> nodes = list.items();
  out.set("layers", std::move(layers), list.where());
  t.autoencoder = translate_old_cost(t, nodes.back(), nodes.front(), out);
  out.set("optimizer", t.rules.optimizer(list.where()));
}

// x.prm, x.pkl -> x.safetensors
Setting checkpoint_name(Setting out) {
  const size_t slash = out.value.rfind('/'), dot = out.value.rfind('.');
  if (dot != out.value.npos && (slash == out.value.npos || dot > slash + 1)) out.value.resize(dot);
  out.value += ".safetensors";
  return out;
}

}  // namespace

namespace {

void translate_schedule_of_saving(OldTranslation& t, const OldNode& schedule, const std::vector<int64_t>& epochs) {
  std::string list;
  for (int64_t epoch : epochs) {
    if (epoch < 1) return t.problem(schedule.where(), text("serialize_schedule: epochs count from 1, found ", epoch));
    list += text(list.empty() ? "" : ",", epoch);
  }
  if (schedule.is_list() && epochs.size() == 1) list += ',';  // after this epoch alone
  t.option("serialize", Setting::scalar(list, schedule.where()));
  t.remark(schedule.where(), text("serialize_schedule: --serialize ", list));
}

// The newest `save_checkpoints` of the files that the schedule wrote. Ours are those beside the file of the last epoch.
void translate_copies(OldTranslation& t, const OldObject& model, const std::vector<int64_t>& epochs, bool saves) {
  const auto count = t.whole_of(model, "save_checkpoints");
  if (!count) return;
  const Location where = model.where_of("save_checkpoints");
  if (*count < 0) return t.problem(where, text("save_checkpoints is ", *count, ", expected at least 0"));
  if (!saves || epochs.empty())
    return t.remark(where,
                    "'save_checkpoints' is left out: without serialized_path and serialize_schedule, 0.9 copied "
                    "no file");
  int64_t last = 0;  // a range of a search has no last epoch
  if (const auto given = model.find("num_epochs")) detail::read_integer(given->scalar(), last);
  const bool every = !model.find("serialize_schedule")->is_list();
  const bool of_last =
      last > 0 && (every ? last % std::max<int64_t>(epochs[0], 1) == 0 : std::ranges::count(epochs, last) > 0);
  const int64_t beside = std::max<int64_t>(*count - (of_last ? 1 : 0), 0);
  t.option("history", Setting::scalar(text(beside), where));
  t.remark(where, text("save_checkpoints: --history ", beside, " keeps as many files beside that of the last epoch",
                       of_last ? ", which the schedule has, too" : ""));
}

}  // namespace

void translate_old_saving(OldTranslation& t, const OldObject& model) {
  const auto path = t.path_of(model, "serialized_path");
  const auto from = model.find("deserialized_path");
  if (path) {
    const Setting name = checkpoint_name(*path);
    t.option("save_path", name);
    t.remark(path->where, text("serialized_path: the run writes the checkpoint ", name.value,
                               " (-s). 0.9 went on with an "
                               "existing file in silence; neon resume ",
                               name.value, " does so when asked"));
  }
  if (from && from->is_scalar())
    t.warning(from->where(),
              text("deserialized_path is left out: neon reads no pickles of 0.9, so the run begins anew; neon resume "
                   "goes on with a checkpoint of neon's, --model_file FILE takes its weights"));
  const auto schedule = model.find("serialize_schedule");
  const std::vector<int64_t> epochs = t.integers_of(model, "serialize_schedule");
  if (path && !epochs.empty()) translate_schedule_of_saving(t, *schedule, epochs);
  if (!path && schedule && !schedule->is_null())
    t.remark(schedule->where(), "'serialize_schedule' is left out: without serialized_path, 0.9 wrote no file");
  translate_copies(t, model, epochs, path.has_value());
}

void finish_old_model(OldTranslation& t, const OldObject& object, OldResult& out) {
  if (const auto layers = object.find("layers")) translate_layers(t, *layers, out);
  finish_old_training(t, object, out);
}

void finish_old_training(OldTranslation& t, const OldObject& object, OldResult& out) {
  translate_old_saving(t, object);
  if (!out.params.find("epochs")) t.problem(object.node.where(), "the model needs 'num_epochs'");
  t.remark(object.where_of("batch_size"),
           "samples that fill no whole batch are trained and tested, too; 0.9 left them out");
}

namespace {

OldKeys cost_layer_keys(OldKeys own) {
  return old_layer_keys(own + OldKeys{required(old_read("cost")), old_read("ref_layer"), old_read("ref_label"),
                                      old_read("category_label"),
                                      old_idle("raw_label", "labels become one-hot where the cost needs it"),
                                      old_idle("nout", "shapes follow from the layers")});
}

// States began at 0 in the first batch of an epoch and in each whose number, from 1, reset_period divides.
void translate_reset_period(OldTranslation& t, const OldObject& object, OldResult& out) {
  const auto period = t.whole_of(object, "reset_period");
  if (!period) return;
  const Location where = object.where_of("reset_period");
  if (*period < 1) return t.problem(where, text("reset_period is ", *period, ", expected at least 1"));
  if (*period > 1) return out.set("reset_period", Setting::scalar(text(*period), where), where);
  Setting* const layers = out.params.find("layers");
  if (!layers) return;
  for (Setting& layer : layers->items)
    for (Setting::Entry& entry : layer.entries)
      if (entry.key == "Recurrent" || entry.key == "LSTM")
        entry.value.entries.push_back({"reset_cells", Setting::scalar("true", where), where});
  t.remark(where, "reset_cells: true begins each batch with states of 0, as reset_period: 1 did");
}

// 0.9 summed the gradients of the steps; ours is of their mean.
void finish_rnn(OldTranslation& t, const OldObject& object, OldResult& out) {
  finish_old_model(t, object, out);
  const auto steps = t.whole_of(object, "unrolls");
  Setting* const cost = out.params.find("cost");
  if (steps && cost) {
    const Location where = cost->where;
    if (cost->is_scalar()) *cost = Setting::map({{cost->value, Setting::map({}, where), where}}, where);
    Setting& params = cost->entries[0].value;
    double own = 1;
    if (const Setting* const given = params.find("scale"); given && !detail::read_real(*given, own))
      t.problem(given->where, "scale: expected a number, to be multiplied by the steps");
    std::erase_if(params.entries, [](const auto& entry) { return entry.key == "scale"; });
    params.entries.push_back({"scale", Setting::scalar(number(own * double(*steps)), where), where});
    t.remark(
        where,
        "scale: 0.9 summed the gradients of the steps, which are a mean here; the cost is the mean over the steps, "
        "where 0.9 printed that of the last one");
  }
  translate_reset_period(t, object, out);
  if (!t.truth_of(object, "truncate", true))
    t.remark(object.where_of("truncate"),
             "truncate: False is left out: gradients go back through the steps of one batch");
}

const OldClasses models(std::vector<OldClass>{
    {"models.MLP", "model", "MLP", old_model_keys({}), finish_old_model},
    {"models.RNN", "model", "RNN",
     old_model_keys({required(old_read("unrolls")), old_read("reset_period"), old_read("truncate"),
                     old_idle("make_plots", "neon plot draws a run's curves"),
                     old_idle("num_grad_params",
                              "neon grad-check SPEC compares gradients with differences of the cost")}),
     finish_rnn},
    {"layers.CostLayer", "cost layer", "", cost_layer_keys({})},
    {"layers.RecurrentCostLayer", "cost layer", "",
     cost_layer_keys({old_idle("unrolls", "the data set says the steps")})},
});

}  // namespace

}  // namespace neon
