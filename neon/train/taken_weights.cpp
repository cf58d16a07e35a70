#include "neon/train/taken_weights.h"

#include <algorithm>
#include <set>

#include "neon/core/message.h"
#include "neon/train/class_names.h"
#include "neon/train/initial_values.h"
#include "neon/train/token_rows.h"

namespace neon {

namespace {

// A parameter or running statistic of the net.
struct Wanted {
  std::string name, owner;
  bool trained = true;
  int token_axis = -1;  // as TokenRows finds it
  bool is_part = false;
};

// Whether the statistics are those of a batch norm whose parameters are all frozen.
bool is_frozen(const LayerState& state, const std::vector<Parameter>& parameters) {
  const std::string unit = state.name.substr(0, state.name.rfind('/') + 1);
  bool any = false;
  for (const Parameter& p : parameters) {
    if (!p.name.starts_with(unit)) continue;
    if (p.trained) return false;
    any = true;
  }
  return any;
}

std::vector<Wanted> wanted_by(const StepGraph& graph, const std::optional<TokenRows>& tokens) {
  std::vector<Wanted> out;
  for (const Parameter& p : graph.parameters)
    out.push_back({p.name, p.owner, p.trained, tokens ? tokens->axis_of(p) : -1, p.is_split()});
  for (const LayerState& s : graph.states)
    if (!belongs_to_step(s.name))
      out.push_back({s.name, s.owner, !is_frozen(s, graph.parameters), tokens ? tokens->axis_of(s) : -1});
  return out;
}

// Whether each number of such a parameter is for one of the layer's inputs, which is an output, too.
bool is_by_output(const Parameter& p) { return p.layer_class == "Bias" || p.layer_class == "BatchNorm"; }

// The layers with weights that give a target's output: its own, or the nearest before it; and where that one shifts or
// scales each number by itself, those before it, too.
std::vector<std::string> layers_of_target(const std::string& target, const TakingNet& net,
                                          std::set<std::string> owners) {
  const auto output = std::ranges::find(net.outputs, target, [](const auto& named) { return named.first; });
  if (output == net.outputs.end()) return {target};
  std::vector<std::string> out;
  const auto shifts = [&](const Parameter& p) { return p.owner != out.back() || is_by_output(p); };
  do {
    if (!out.empty()) owners.erase(out.back());
    out.push_back(net.network.owner_behind(output->second.layer, owners));
  } while (!out.back().empty() && std::ranges::all_of(net.graph.parameters, shifts));
  return out;
}

// The layers whose rows are classes that the checkpoint does not have.
std::set<std::string> layers_of_other_classes(const TensorFile& file, const TakingNet& net) {
  std::set<std::string> out, owners;
  for (const Parameter& p : net.graph.parameters) owners.insert(p.owner);
  const std::optional<SampleMeaning> samples = samples_in(file);
  for (const NamedTarget& target : net.samples.targets) {
    const std::vector<NamedTarget> none, &all = samples ? samples->targets : none;
    const auto former = std::ranges::find(all, target.name, &NamedTarget::name);
    const bool named = former != all.end() && !former->names.empty() && !target.names.empty();
    if (!named || same_classes(target.names, former->names)) continue;
    for (const std::string& layer : layers_of_target(target.name, net, owners)) out.insert(layer);
  }
  const std::vector<std::string> trained = class_names_in(file), &here = net.samples.class_names;
  if (trained.empty() || here.empty() || same_classes(here, trained)) return out;
  const std::vector<std::string> last = net.network.last_of(owners);
  out.insert(last.begin(), last.end());
  return out;
}

// Differences to the net's tensors, with the nearest names of the file.
std::vector<std::string> misfits(const TensorFile& weights, const std::vector<Wanted>& wanted,
                                 const Variables& variables) {
  std::vector<std::string> names, out;
  for (const NamedTensor& named : weights.tensors) names.push_back(named.name);
  for (const Wanted& w : wanted) {
    const Tensor& here = variables.at(w.name);
    const Tensor* const stored = weights.find(w.name);
    const std::string unlike = stored ? misfit(w.name, *stored, here, true) : "";
    if (!stored) out.push_back(text(w.name, " ", here.shape(), " is in the net only", did_you_mean(w.name, names)));
    else out.push_back(unlike.empty() ? w.name + " is of other classes" : unlike);
  }
  return out;
}

// Names of the numbers of a table's sample: "'x'", "'colour' = 'red'". Empty where the columns have no names.
std::vector<std::string> inputs_of(const TableColumns& table) {
  std::vector<std::string> out;
  for (size_t k = 0; k < table.features.size(); ++k) {
    const std::string name = in_quotes(table.features[k]);
    const ColumnCode code = k < table.codes.size() ? table.codes[k] : ColumnCode();
    if (code.embedded > 0) out.push_back(text(name, " of a category without a row of its own"));
    for (const std::string& category : code.categories) out.push_back(text(name, " = ", in_quotes(category)));
    if (code.embedded > 0) continue;
    const int64_t numbers = code.width() - int64_t(code.categories.size()) - (code.indicator ? 1 : 0);
    out.insert(out.end(), size_t(numbers), name);
    if (code.indicator) out.push_back(name + " is missing");
  }
  return out;
}

// The first place at which two lists of one length differ; their length where they do not.
size_t first_other(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return size_t(std::ranges::mismatch(a, b).in1 - a.begin());
}

std::string other_columns(const SampleMeaning& trained, const SampleMeaning& here, const std::string& path) {
  const std::vector<std::string> then = inputs_of(trained.table), now = inputs_of(here.table);
  const size_t k = then.size() == now.size() ? first_other(then, now) : then.size();
  if (k == then.size()) return "";
  return text("warning: input ", k, " of the net of ", path, " was ", then[k], ", and is ", now[k],
              " here: weights meet other columns; give the columns as they were, or the first layer another name");
}

std::string other_pixels(const SampleMeaning& trained, const SampleMeaning& here, const std::string& path) {
  const bool bytes = trained.dtype == DType::u8 && here.dtype == DType::u8;
  if (!bytes || (trained.scale == here.scale && trained.shift == here.shift)) return "";
  const auto range = [](const SampleMeaning& of) { return text(of.shift, " to ", 255 * of.scale + of.shift); };
  return text("warning: pixels of the net of ", path, " were from ", range(trained), ", and are from ", range(here),
              " here: weights meet other numbers; scale the samples as they were");
}

std::string other_tokens(const SampleMeaning& trained, const SampleMeaning& here, const std::string& path) {
  const std::vector<std::string>&then = trained.vocabulary.texts, &now = here.vocabulary.texts;
  const size_t k = then.size() == now.size() ? first_other(then, now) : then.size();
  if (k == then.size()) return "";
  return text(
      "warning: token ", k, " of the net of ", path, " was ", in_quotes(then[k]), ", and is ", in_quotes(now[k]),
      " here: rows of tables are of other tokens; train on a text of the same tokens, or give the layers other names");
}

// A warning where samples have as many numbers as those of the checkpoint at `path`, but of another meaning: another
// column or category at a place, another range of pixels, or another text of a token. "" without such a difference.
std::string other_inputs(const SampleMeaning& trained, const SampleMeaning& here, const std::string& path) {
  for (const auto& difference : {other_columns, other_pixels, other_tokens})
    if (std::string found = difference(trained, here, path); !found.empty()) return found;
  return "";
}

std::vector<std::string> notes_about(const TensorFile& file, const std::string& path, const TakingNet& net,
                                     const Variables& variables, const TakenWeights& all) {
  std::vector<std::string> out;
  for (const Parameter& p : net.graph.parameters) {
    const Tensor* const stored = file.find(p.name);
    const DType here = variables.at(p.name).dtype();
    if (!stored || !misfit(p.name, *stored, variables.at(p.name), true).empty()) continue;
    if (size_of(stored->dtype()) <= size_of(here)) continue;
    out.push_back(text("note: the weights of ", path, " are ", stored->dtype(), ", here they are rounded to ", here));
    break;
  }
  if (const std::optional<bool> trained = trained_as_caffe(file); trained.value_or(net.caffe) != net.caffe)
    out.push_back(text("note: the net of ", path, " was trained with", *trained ? "" : "out",
                       " --caffe, this run is with", *trained ? "out" : "",
                       " it: pooling may have other sizes, and dropout another scale"));
  // The layers that read the samples come first.
  const std::string first = net.graph.parameters.empty() ? "" : net.graph.parameters.front().name;
  const bool reads = std::ranges::count(all.taken, first) > std::ranges::count(all.by_token, first);
  if (const std::optional<SampleMeaning> trained = samples_in(file); trained && reads)
    if (std::string found = other_inputs(*trained, net.samples, path); !found.empty()) out.push_back(std::move(found));
  return out;
}

}  // namespace

namespace {

// The tokens of both nets, where they differ.
std::optional<TokenRows> tokens_that_differ(const TensorFile& file, const TakingNet& net) {
  const std::optional<SampleMeaning> trained = samples_in(file);
  if (!trained) return {};
  std::set<std::string> owners;
  for (const Parameter& p : net.graph.parameters) owners.insert(p.owner);
  std::optional<TokenRows> out(std::in_place, *trained, net.samples, net.network.last_of(owners));
  if (!out->differ()) out.reset();
  return out;
}

}  // namespace

TakenWeights take_weights(const TensorFile& file, const std::string& path, const TakingNet& net, Variables& variables) {
  const TensorFile weights = evaluated_weights(file, true);
  const std::optional<TokenRows> tokens = tokens_that_differ(file, net);
  const std::vector<Wanted> wanted = wanted_by(net.graph, tokens);
  const std::set<std::string> of_other_classes = layers_of_other_classes(file, net);
  TakenWeights out;
  std::set<std::string> met;
  std::vector<std::string> frozen, frozen_rows;
  for (const Wanted& w : wanted) {
    met.insert(w.name);
    const Tensor* const stored = weights.find(w.name);
    Tensor& here = variables.at(w.name);
    if (stored && w.token_axis >= 0 && !w.is_part && tokens->take(*stored, here, w.token_axis)) {
      out.taken.push_back(w.name);
      out.by_token.push_back(w.name);
      if (!w.trained && tokens->count_new() > 0) frozen_rows.push_back(w.name);
      continue;
    }
    const bool fits = stored && misfit(w.name, *stored, here, true).empty();
    if (fits && w.token_axis < 0 && !of_other_classes.contains(w.owner)) {
      here.copy_from(*stored);
      out.taken.push_back(w.name);
      continue;
    }
    const bool other_type = stored && stored->shape() == here.shape();
    out.fresh.push_back(fits && w.token_axis >= 0 ? w.name + " of other tokens"
                        : fits                    ? w.name + " of other classes"
                        : other_type              ? text(w.name, " of ", here.dtype(), " in place of ", stored->dtype())
                        : stored                  ? text(w.name, " ", here.shape(), " in place of ", stored->shape())
                                                  : w.name);
    if (!w.trained) frozen.push_back(w.name);
  }
  for (const NamedTensor& named : weights.tensors)
    if (!met.contains(named.name)) out.unused.push_back(named.name);
  if (out.taken.empty()) another_net(path, misfits(weights, wanted, variables));
  start_running_means(variables);
  out.notes = notes_about(file, path, net, variables, out);
  if (!out.by_token.empty()) out.notes.push_back(text("note: ", tokens->line(out.by_token)));
  if (!frozen_rows.empty())
    out.notes.push_back(
        text("warning: frozen: ", list_text(frozen_rows), "; rows of the ", tokens->count_new(),
             " new tokens keep the values that they begin with; to train them give update: true and no freeze"));
  if (!frozen.empty())
    out.notes.push_back(text("warning: frozen and not in ", path, ": ", list_text(frozen),
                             "; drawn values stay there, leave them out of `freeze`"));
  return out;
}

std::string TakenWeights::line() const {
  const std::string unchanged = fresh.empty() ? "all " : text(taken.size(), " of ");
  return text(unchanged, taken.size() + fresh.size(), " tensors taken",
              fresh.empty() ? "" : text("; new: ", list_text(fresh)),
              unused.empty() ? "" : text("; not used: ", list_text(unused)));
}

std::string TakenWeights::listing() const {
  std::string out;
  for (const auto& [what, names] : {std::pair("taken", &taken), {"new", &fresh}, {"not used", &unused}})
    for (const std::string& name : *names) out += text(what, ": ", name, "\n");
  return out;
}

}  // namespace neon
