#include "neon/train/shared_rows.h"

#include <algorithm>
#include <cstring>

#include "models/rule_ranks.h"
#include "neon/train/array_part.h"

namespace neon {

namespace {

bool is_carried(const std::string& name) {
  return name.ends_with(kCarried) && !has_chains(name) && !belongs_to_evaluation(name);
}

// This rank's rows or columns of an array, and how many there are in all.
struct OwnPart {
  int axis = 0;
  int64_t first = 0, count = 0, all = 0;
};

// The split parameter that a variable is, or for which an optimizer keeps it; or null.
const SplitArray* split_of(const std::string& name, const RunSetup& setup) {
  for (const SplitArray& split : setup.split)
    if (name == split.name || name.starts_with(split.name + "/")) return &split;
  return nullptr;
}

// The variable of which a callback keeps a copy in the tensor callback/K/NAME; that variable itself.
std::string variable_of(const std::string& name) {
  return name.starts_with("callback/") ? name.substr(std::min(name.find('/', 9), name.size() - 1) + 1) : name;
}

// The part of the variable or tensor `tensor` that this rank has; none where it is here as a whole.
std::optional<OwnPart> own_part(const std::string& tensor, const RunSetup& setup) {
  if (!setup.ranks) return {};
  const std::string name = variable_of(tensor);
  if (const SplitArray* const split = split_of(name, setup))
    return OwnPart{split->part.axis, split->part.first, split->count, split->part.all};
  if (!is_carried(name)) return {};
  const BatchShare share = share_of(setup.step.batch, setup.step.batch, setup.rank());
  return OwnPart{0, share.first, share.counts ? share.count : 0, share.whole};
}

// Whether each rank has a part of the variable, which is the sum of these.
bool is_summed(const std::string& tensor, const RunSetup& setup) {
  const std::string name = variable_of(tensor);
  if (!sums_apart(setup.step, setup.rank().ranks) || !name.ends_with("/sum")) return false;
  const SplitArray* const split = split_of(name, setup);
  return !split || split->gathered;
}

bool has(const Tensor& tensor, int axis, int64_t count) {
  return tensor.shape().rank() > axis && tensor.shape()[axis] == count;
}

}  // namespace

namespace {

void add_all_rows(const std::map<std::string, Tensor>& arrays, const std::string& prefix, const RunSetup& setup,
                  std::map<std::string, Tensor>& out) {
  for (const auto& [name, own] : arrays) {
    if (is_summed(name, setup)) {
      if (prefix.empty()) continue;  // rank 0 has the sum: see gather_sums()
      Tensor all = own.clone();
      const Summand sum{all.data(), all.data(), all.elements()};
      setup.ranks->sum(std::span(&sum, 1), all.dtype());
      out.emplace(prefix + name, std::move(all));
      continue;
    }
    const std::optional<OwnPart> part = own_part(name, setup);
    if (!part || own.shape().rank() == 0) continue;
    if (split_of(name, setup) && !has(own, part->axis, part->count)) continue;  // a number of the optimizer's
    Tensor all(own.dtype(), own.shape().with(part->axis, part->all));
    if (part->count > 0) put_part(all, part->axis, part->first, own);
    const Summand sum{all.data(), all.data(), all.elements()};
    setup.ranks->sum(std::span(&sum, 1), all.dtype());  // the parts of others are 0 here
    out.emplace(prefix + name, std::move(all));
  }
}

}  // namespace

std::map<std::string, Tensor> with_all_rows(const Variables& variables, const RunSetup& setup) {
  std::map<std::string, Tensor> out;
  add_all_rows(variables.all(), "", setup, out);
  const auto& callbacks = setup.experiment.params.callbacks;
  for (size_t k = 0; k < callbacks.size(); ++k)
    add_all_rows(callbacks[k]->arrays(), text("callback/", k, "/"), setup, out);
  return out;
}

double bytes_with_all_rows(const Variables& variables, const RunSetup& setup) {
  double out = 0;
  for (const auto& [name, tensor] : variables.all()) {
    const SplitArray* const split = split_of(name, setup);
    out += double(tensor.bytes()) * (split ? double(split->part.all) / double(split->count) : 1);
  }
  return out;
}

bool is_whole(const std::string& name, const RunSetup& setup) {
  return !own_part(name, setup) && !is_summed(name, setup);
}

void gather_sums(Variables& variables, const RunSetup& setup) {
  variables.to_host();
  for (const auto& [name, tensor] : variables.all()) {
    if (!is_summed(name, setup)) continue;
    Tensor& here = variables.at(name);
    const Summand sum{here.data(), here.data(), here.elements()};
    setup.ranks->sum(std::span(&sum, 1), here.dtype());
    if (!setup.leads() && here.bytes()) std::memset(here.data(), 0, here.bytes());
  }
  variables.to_device();
}

bool is_of_another_size(const NamedTensor& tensor, const RunSetup& setup) {
  const std::optional<OwnPart> part = split_of(tensor.name, setup) ? own_part(tensor.name, setup) : std::nullopt;
  return part && !has(tensor.tensor, part->axis, part->all);
}

TensorFile with_own_rows(const TensorFile& file, const RunSetup& setup) {
  TensorFile out = file;
  for (NamedTensor& named : out.tensors)
    if (is_summed(named.name, setup)) {
      if (setup.leads() || named.tensor.bytes() == 0) continue;
      named.tensor = Tensor(named.tensor.dtype(), named.tensor.shape());
    } else if (const std::optional<OwnPart> part = own_part(named.name, setup);
               part && has(named.tensor, part->axis, part->all))
      named.tensor = part_of(named.tensor, part->axis, part->first, std::max<int64_t>(part->count, 1));
  return out;
}

namespace {

// Weights of a step that ranks share: their layers, and how many numbers of all these are.
struct SharedWeights {
  std::vector<std::string> layers;
  int64_t numbers = 0, all = 0;
};

SharedWeights shared_weights(const StepGraph& graph, bool gathered) {
  SharedWeights out;
  for (const Parameter& p : graph.parameters) {
    out.all += p.whole_shape().elements();
    if (!p.is_split() || p.gathered != gathered) continue;
    out.numbers += p.whole_shape().elements();
    if (out.layers.empty() || out.layers.back() != p.owner) out.layers.push_back(p.owner);
  }
  return out;
}

}  // namespace

std::string split_text(const StepOptions& step, int ranks, const StepGraph& graph) {
  const DenseSplit& asked = step.dense;
  if ((!asked.on && !asked.tables) || ranks < 2) return "";
  const auto any = [&](bool table) {
    return std::ranges::any_of(graph.parameters, [&](const Parameter& p) {
      return p.is_split() && !p.gathered && (p.layer_class == "Embedding") == table;
    });
  };
  const char* const key = !asked.on ? "embedding: model" : asked.pairs ? "dense: pairs" : "dense: model";
  if (asked.on && !any(false))
    fail(ErrorKind::config, "parallel: {", key, "} splits nothing here: no Affine or Linear ",
         asked.pairs ? "has an nout, no GatedMLP a `hidden` and no MultiHeadAttention without dropout `heads` and "
                       "`kv_heads` that are multiples of "
                     : "of samples has an nout that is a multiple of ",
         ranks, "; leave dense out (--set parallel.dense=data), or take another number of devices");
  if (asked.tables && !any(true))
    fail(ErrorKind::config, "parallel: {embedding: model} splits nothing here: no Embedding of its own table, without ",
         "`vectors`, has a row for each of ", ranks, " devices; leave embedding out (--set parallel.embedding=data)");
  const SharedWeights split = shared_weights(graph, false);
  return text("weights split over ", ranks, " devices: ", list_text(split.layers), "; ", split.numbers, " of ",
              split.all, " numbers");
}

std::string sharded_text(const StepOptions& step, int ranks, const StepGraph& graph) {
  if (!step.sharded || ranks < 2) return "";
  const SharedWeights shared = shared_weights(graph, true);
  if (shared.layers.empty())
    fail(ErrorKind::config, "parallel: {optimizer: sharded} shards nothing here: no other weight of two axes or more ",
         "has a row for each of ", ranks,
         " devices; leave optimizer out (--set parallel.optimizer=replicated), or take fewer devices");
  return text("weights and optimizer state sharded over ", ranks, " devices: ", shared.numbers, " of ", shared.all,
              " numbers");
}

std::vector<SplitArray> split_arrays(const std::vector<Parameter>& parameters) {
  std::vector<SplitArray> out;
  for (const Parameter& p : parameters)
    if (p.is_split()) out.push_back({p.name, p.part, p.shape[p.part.axis], p.gathered});
  return out;
}

}  // namespace neon
