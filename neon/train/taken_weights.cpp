#include "neon/train/taken_weights.h"

#include <algorithm>
#include <set>

#include "neon/core/message.h"
#include "neon/train/class_names.h"
#include "neon/train/initial_values.h"

namespace neon {

namespace {

// A parameter or running statistic of the net.
struct Wanted {
  std::string name, owner;
  bool trained = true;
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

std::vector<Wanted> wanted_by(const StepGraph& graph) {
  std::vector<Wanted> out;
  for (const Parameter& p : graph.parameters) out.push_back({p.name, p.owner, p.trained});
  for (const LayerState& s : graph.states)
    if (!belongs_to_step(s.name)) out.push_back({s.name, s.owner, !is_frozen(s, graph.parameters)});
  return out;
}

// The layers whose rows are classes that the checkpoint does not have.
std::set<std::string> layers_of_other_classes(const TensorFile& file, const TakingNet& net) {
  const std::vector<std::string> trained = class_names_in(file);
  if (trained.empty() || net.class_names.empty() || same_classes(net.class_names, trained)) return {};
  std::set<std::string> owners;
  for (const Parameter& p : net.graph.parameters) owners.insert(p.owner);
  const std::vector<std::string> last = net.network.last_of(owners);
  return {last.begin(), last.end()};
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

std::vector<std::string> notes_about(const TensorFile& file, const std::string& path, const TakingNet& net,
                                     const Variables& variables) {
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
  return out;
}

}  // namespace

TakenWeights take_weights(const TensorFile& file, const std::string& path, const TakingNet& net, Variables& variables) {
  const TensorFile weights = evaluated_weights(file, true);
  const std::vector<Wanted> wanted = wanted_by(net.graph);
  const std::set<std::string> of_other_classes = layers_of_other_classes(file, net);
  TakenWeights out;
  std::set<std::string> met;
  std::vector<std::string> frozen;
  for (const Wanted& w : wanted) {
    met.insert(w.name);
    const Tensor* const stored = weights.find(w.name);
    Tensor& here = variables.at(w.name);
    const bool fits = stored && misfit(w.name, *stored, here, true).empty();
    if (fits && !of_other_classes.contains(w.owner)) {
      here.copy_from(*stored);
      out.taken.push_back(w.name);
      continue;
    }
    const bool other_type = stored && stored->shape() == here.shape();
    out.fresh.push_back(fits         ? w.name + " of other classes"
                        : other_type ? text(w.name, " of ", here.dtype(), " in place of ", stored->dtype())
                        : stored     ? text(w.name, " ", here.shape(), " in place of ", stored->shape())
                                     : w.name);
    if (!w.trained) frozen.push_back(w.name);
  }
  for (const NamedTensor& named : weights.tensors)
    if (!met.contains(named.name)) out.unused.push_back(named.name);
  if (out.taken.empty()) another_net(path, misfits(weights, wanted, variables));
  start_running_means(variables);
  out.notes = notes_about(file, path, net, variables);
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
