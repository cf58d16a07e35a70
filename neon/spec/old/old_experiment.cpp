// The whole file of neon 0.9: an experiment.
#include <algorithm>

#include "neon/core/params.h"
#include "neon/spec/old/old_datasets.h"

namespace neon {

namespace {

const OldKeys kExperimentKeys = {
    required(old_read("dataset")),
    required(old_read("model")),
    old_read("backend"),
    old_read("live"),
    old_map("logging"),
    old_holder("weight_init"),
    old_holder("weight_inits"),
    old_holder("lrule"),
    old_holder("lrules"),
};
constexpr const char* kErrorExperiment = "experiments.FitPredictErrorExperiment";
const OldKeys kErrorKeys = kExperimentKeys + OldKeys{
                                                 old_map("metrics"),
                                                 old_read("predictions"),
                                                 old_map("diagnostics"),
                                                 old_idle("inference_sets", "0.9 did not read it"),
                                                 old_idle("inference_metrics", "0.9 did not read it"),
                                                 old_idle("return_item", "0.9 did not read it"),
                                                 old_idle("overwrite_list", "0.9 did not read it"),
                                                 old_idle("serialize_path", "0.9 did not read it"),
                                                 old_idle("deserialize_path", "0.9 did not read it"),
                                             };

void translate_logging(OldTranslation& t, const OldNode& node) {
  static const OldClass kLogging{
      "logging", "", "", {old_word("level"), old_word("filename"), old_idle("format", "lines have one form")}};
  if (node.is_null()) return;
  const OldObject logging{node, kLogging};
  t.check_keys(logging);
  OldResult none;
  t.use_keys(logging, none);
  if (const auto file = t.path_of(logging, "filename")) {
    t.option("log_file", *file);
    t.remark(file->where, text("logging to ", file->value, " is an option of the run: --log ", file->value));
  }
  if (t.whole_of(logging, "level"))
    t.remark(logging.where_of("level"), "'level' is left out: -v prints more, -vv still more");
}

void translate_diagnostics(OldTranslation& t, const OldNode& node, OldResult& out) {
  static const OldClass kDiagnostics{
      "diagnostics",
      "",
      "",
      {old_read("timing"), old_read("ranges"), old_list("decorate_fc"), old_list("decorate_conv"),
       old_list("decorate_ew"), old_list("decorate_ranges"), old_word("verbosity"), old_word("prefix")}};
  const OldObject diagnostics{node, kDiagnostics};
  t.check_keys(diagnostics);
  for (const char* key : {"decorate_fc", "decorate_conv", "decorate_ew"})
    if (diagnostics.find(key))
      t.remark(diagnostics.where_of(key), text("'", key, "' is left out: neon bench -v times every kernel"));
  if (diagnostics.find("decorate_ranges"))
    t.remark(diagnostics.where_of("decorate_ranges"),
             "'decorate_ranges' is left out: Hist looks at all weights and gradients");
  for (const char* key : {"verbosity", "prefix"})
    if (diagnostics.find(key))
      t.remark(diagnostics.where_of(key), text("'", key, "' is left out: numbers go to the metrics file (-o)"));
  if (t.truth_of(diagnostics, "timing", false))
    t.warning(diagnostics.where_of("timing"),
              "diagnostics: timing is no part of a run here; neon bench -v SPEC measures the kernels' times and rates");
  if (!t.truth_of(diagnostics, "ranges", false)) return;
  const Location where = diagnostics.where_of("ranges");
  Setting hist = Setting::map({{"ranges", Setting::scalar("true", where), where}}, where);
  out.set("callbacks", Setting::list({Setting::map({{"Hist", std::move(hist), where}}, where)}, where));
  t.remark(where,
           "diagnostics: ranges: Hist writes histograms, ends and shares of weights and gradients of each epoch's last "
           "step to the metrics file; 0.9 drew pictures of the first updates");
}

// Metrics of training samples, at each evaluation of others.
void translate_train_metrics(OldTranslation& t, const OldNode& list, OldResult& out) {
  constexpr const char* kMost = "10000";
  if (!t.has_test)
    return t.remark(list.where(),
                    "metrics of the training set: neon reports the mean cost of an epoch's training; train_metrics: N "
                    "evaluates N training samples beside those of a test");
  out.set("train_metrics", Setting::scalar(kMost, list.where()));
  t.remark(list.where(), text("train_metrics: metrics of the training set are those of ", kMost,
                              " of its samples, after each epoch; 0.9 took all of them, after the last"));
}

// Metrics of each set. Ours are of the sets that a run evaluates.
void translate_metrics(OldTranslation& t, const OldNode& node, OldResult& out) {
  static const OldClass kSets{"metrics", "", "", {old_read("train"), old_read("test"), old_read("validation")}};
  const OldObject sets{node, kSets};
  t.check_keys(sets);
  Setting metrics = Setting::list({}, node.where());
  size_t most = 0;  // of one set
  for (const char* set : {"test", "validation", "train"}) {
    const auto list = sets.find(set);
    if (!list) continue;
    for (const OldNode& each : list->is_list() ? list->items() : std::vector<OldNode>()) {
      Setting metric = t.object(each, "metric");
      const auto same = [&](const Setting& other) { return other.to_string() == metric.to_string(); };
      if (!metric.is_null() && std::ranges::none_of(metrics.items, same)) metrics.items.push_back(std::move(metric));
    }
    most = std::max(most, list->items().size());
    if (!list->is_list())
      t.problem(list->where(), text("metrics of the set ", set, ": expected a list, found ", list->describe()));
    if (std::string_view(set) == "train" && list->is_list() && !list->items().empty())
      translate_train_metrics(t, *list, out);
  }
  if (metrics.items.empty()) return;
  if (out.params.find("rule")) {
    std::erase_if(out.params.entries, [](const auto& entry) { return entry.key == "train_metrics"; });
    return t.warning(node.where(), "metrics are left out: a rule trains this net, and reports results of its own");
  }
  if (metrics.items.size() > most)
    t.remark(node.where(), "metrics: each set has all of them here; 0.9 printed those of its own list");
  Setting* const outputs = out.params.find("outputs");
  Setting* const by_class = outputs ? outputs->find("class") : nullptr;
  if (by_class) by_class->entries.push_back({"metrics", std::move(metrics), node.where()});
  else out.set("metrics", std::move(metrics), node.where());
}

// Sets by name, in a list or as keys of a map.
void translate_predictions(OldTranslation& t, const OldNode& node, OldResult& out) {
  if (node.is_null()) return;
  if (!node.is_list() && !node.is_map())
    return t.problem(node.where(), text("predictions: expected a list of sets, as [test], found ", node.describe()));
  static const std::vector<std::string> kSets = {"train", "test", "validation"};
  Setting sets = Setting::list({}, node.where());
  const auto add = [&](const std::string& name, const Location& where) {
    if (std::ranges::find(kSets, name) == kSets.end())
      return t.problem(where, text("predictions: ", in_quotes(name), " is no set; 0.9 had train, test and validation",
                                   did_you_mean(name, kSets)));
    sets.items.push_back(Setting::scalar(name, where));
  };
  if (node.is_list())
    for (const OldNode& each : node.items()) add(each.is_scalar() ? each.value() : each.describe(), each.where());
  else
    for (const OldNode::Entry& entry : node.entries()) add(entry.key, entry.where);
  if (sets.items.empty()) return;
  if (const Setting* const layers = out.params.find("rule"); layers && !layers->is_null())
    return t.warning(node.where(), "predictions are left out: a rule trains this net, and compares no outputs");
  out.set("predictions", std::move(sets), node.where());
  t.remark(node.where(),
           "predictions: outputs and targets go to predictions.npz in the run's folder, by the best net "
           "that the run kept; 0.9 pickled them beside the data, by the last");
}

// float16, np.float32, numpy.float64 of all layers.
void translate_datatype(OldTranslation& t, Setting& root) {
  Remark first;
  for (const Remark& type : t.datatypes) {
    const size_t dot = type.text.rfind('.');
    const std::string package = type.text.substr(0, dot == type.text.npos ? 0 : dot);
    const std::string name = type.text.substr(dot == type.text.npos ? 0 : dot + 1);
    const std::string bits = name.substr(std::min<size_t>(name.size(), 5));
    if ((!package.empty() && package != "np" && package != "numpy") ||
        (name != "float16" && name != "float32" && name != "float64")) {
      t.problem(type.where,
                text("backend_type ", in_quotes(type.text), ": expected np.float16, np.float32 or np.float64"));
      continue;
    }
    if (first.text.empty()) first = {type.where, "f" + bits};
    else if (first.text != "f" + bits)
      t.problem(type.where, text("layers of two types, f", bits, " here and ", first.text, " at ", first.where,
                                 "; a net has one here"));
  }
  if (first.text.empty() || first.text == "f32") return;
  root.entries.push_back({"datatype", Setting::scalar(first.text, first.where), first.where});
  if (first.text == "f16")
    t.remark(first.where, "f16: weights are kept in f32, too, and the loss scale is found during the run");
}

void check_unrolls(OldTranslation& t) {
  for (const auto& [where, steps] : t.unrolls)
    if (steps != t.unrolls[0].second)
      t.problem(where, text("unrolls is ", steps, " here and ", t.unrolls[0].second, " at ", t.unrolls[0].first,
                            "; data set, model and layers have the same steps"));
}

// As the guide writes specs.
void order_keys(Setting& root) {
  static const std::vector<std::string> order = {"dataset", "augment",       "normalize",   "layers",    "cost",
                                                 "outputs", "rule",          "optimizer",   "freeze",    "phases",
                                                 "metrics", "train_metrics", "predictions", "callbacks", "batch_size",
                                                 "epochs",  "reset_period",  "shuffle",     "rng_seed",  "datatype"};
  std::ranges::stable_sort(root.entries, {},
                           [](const auto& e) { return std::ranges::find(order, e.key) - order.begin(); });
}

void finish_experiment(OldTranslation& t, const OldObject& object, OldResult& out) {
  const auto model = object.find("model"), dataset = object.find("dataset");
  if (dataset) t.flat_data = is_old_flat(old_class_name(dataset->tag()));
  Setting net = model ? t.object(*model, "model") : Setting();
  if (dataset) out.set("dataset", t.object(*dataset, "data set"), dataset->where());
  out.set("augment", std::move(t.augment));
  out.set("normalize", std::move(t.normalize));
  if (net.is_map())
    for (auto& entry : net.entries[0].value.entries) out.set(entry.key, std::move(entry.value), entry.where);
  if (const auto metrics = object.find("metrics"); metrics && !metrics->is_null()) translate_metrics(t, *metrics, out);
  else if (object.kind.name == kErrorExperiment)
    t.remark(object.node.where(),
             "metrics: without a list, 0.9 reported MisclassPercentage of the training and of the test set; "
             "train_metrics: N evaluates N training samples");
  if (const auto predictions = object.find("predictions")) translate_predictions(t, *predictions, out);
  if (const auto diagnostics = object.find("diagnostics"); diagnostics && !diagnostics->is_null())
    translate_diagnostics(t, *diagnostics, out);
  if (const auto logging = object.find("logging")) translate_logging(t, *logging);
  if (const auto backend = object.find("backend"); backend && !backend->is_null()) {
    const Setting made = t.object(*backend, "backend");
    if (made.is_map())
      for (const auto& entry : made.entries[0].value.entries) out.set(entry.key, entry.value, entry.where);
  }
  if (t.truth_of(object, "live", false))
    t.problem(
        object.where_of("live"),
        "live inference through shared memory is not taken over; neon predict reads samples from files and pipes");
  out.set("shuffle", Setting::scalar(t.shuffle ? "true" : "false", object.node.where()));
  t.remark(object.node.where(),
           t.shuffle ? "shuffle: images come in a new order in each epoch; 0.9 shuffled once, when it packed them"
                     : "shuffle: false keeps the order of samples, as 0.9 did; true usually trains better");
  if (!t.frozen.empty()) {
    Setting frozen = Setting::list({}, object.node.where());
    for (const std::string& array : t.frozen) frozen.items.push_back(Setting::scalar(array, frozen.where));
    out.set("freeze", std::move(frozen));
  }
  check_unrolls(t);
  translate_datatype(t, out.params);
  order_keys(out.params);
}

// It trained nothing: it compared the gradients of a batch with differences.
void finish_gradients(OldTranslation& t, const OldObject& object, OldResult& out) {
  finish_experiment(t, object, out);
  t.warning(object.node.where(),
            "experiments.GradientChecker: neon grad-check SPEC compares the gradients of this net with differences of "
            "its cost; a run trains the net");
}

void finish_gpu(OldTranslation& t, const OldObject& object, OldResult& out) {
  const Location where = object.node.where();
  out.set("backend", Setting::scalar("gpu", where));
  if (const auto device = t.whole_of(object, "device_id")) {
    t.option("device_id", Setting::scalar(text(*device), object.where_of("device_id")));
    t.remark(object.where_of("device_id"), text("device_id: -i ", *device));
  }
  if (t.truth_of(object, "stochastic_round", false)) {
    t.option("rounding", Setting::scalar("-1", object.where_of("stochastic_round")));
    t.remark(object.where_of("stochastic_round"), "stochastic_round: the option -u rounds updates stochastically");
  }
  if (const auto count = t.whole_of(object, "num_dev"); count && *count > 1)
    t.warning(object.where_of("num_dev"), text("num_dev is left out: -m ", *count, " trains on as many GPUs"));
}

const OldKeys kBackendKeys = {old_value("rng_seed"), old_idle("default_dtype", "the layers' type counts")};
const OldKeys kGpuKeys = kBackendKeys + OldKeys{old_read("device_id"), old_read("stochastic_round")};

const OldClasses experiments(std::vector<OldClass>{
    {"experiments.FitExperiment", "experiment", "Fit", kErrorKeys, finish_experiment},
    {kErrorExperiment, "experiment", "Fit", kErrorKeys, finish_experiment},
    {"experiments.GradientChecker", "experiment", "Fit", kErrorKeys, finish_gradients},
    {"backends.CPU", "backend", "Backend",
     kBackendKeys + OldKeys{old_idle("seterr_handling", "a run that overflows ends by itself")}},
    {"backends.GPU", "backend", "Backend", kGpuKeys, finish_gpu},
    {"backends.MGPU", "backend", "Backend", kGpuKeys + OldKeys{old_read("num_dev")}, finish_gpu},
});

}  // namespace

Setting translate_old_file(const OldFile& file, Conversion& conversion, Problems& problems) {
  OldTranslation translation(conversion, problems);
  Setting made = translation.object(OldNode(file, file.raw.root), "experiment");
  problems.throw_if_any();
  return made.entries.empty() ? made : std::move(made.entries[0].value);
}

}  // namespace neon
