#include "neon/train/run_state.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "datasets/sample_meaning_json.h"
#include "neon/core/stored_spec.h"
#include "neon/spec/yaml.h"
#include "neon/train/own_key.h"
#include "neon/train/position_json.h"

namespace neon {

namespace {

using nlohmann::json;

constexpr const char* kEarlierPhases = "neon.earlier_phases";

}  // namespace

MeanCosts mean_costs(const Position& of) {
  const double counted = double(std::max<int64_t>(of.counted, 1));
  MeanCosts out{of.cost_sum / counted, of.output_cost_sums};
  for (double& cost : out.outputs) cost /= counted;
  return out;
}

void check_names(const RunOptions& options) {
  for (const auto& [key, value, where] : write_params(options).entries)
    if (!is_utf8(value.value))
      fail(ErrorKind::config,
           key == "spec_dir"  ? "the spec's folder"
           : key == "run_dir" ? "the working folder"
                              : key,
           " ", in_quotes(value.value), " is not UTF-8, and a checkpoint (", in_quotes(options.save_path),
           ") holds all names of its run, as UTF-8; rename it, or save nothing");
}

TensorFile pack_run(const Experiment& experiment, const Setting& resolved, const RunOptions& options,
                    const Position& position, const Variables& variables, const Data& data,
                    const std::vector<std::string>& of_earlier_phases) {
  TensorFile out;
  for (const auto& [name, tensor] : variables.all())
    if (!belongs_to_evaluation(name)) out.tensors.push_back({name, tensor});
  json callbacks = json::array();
  for (size_t k = 0; k < experiment.params.callbacks.size(); ++k) {
    const Callback& callback = *experiment.params.callbacks[k];
    json state = json::object();
    for (const auto& [name, value] : callback.state()) state[name] = exact_text(value);
    callbacks.push_back(state);
    for (const auto& [name, tensor] : callback.arrays())
      out.tensors.push_back({text("callback/", k, "/", name), tensor});
  }
  out.metadata["neon.spec"] = write_yaml(resolved);
  out.metadata["neon.options"] = write_yaml(write_params(options));
  const std::string seal = own_seal(out.metadata["neon.spec"], out.metadata["neon.options"]);
  if (!seal.empty()) out.metadata["neon.seal"] = seal;
  out.metadata["neon.position"] = write_position(position).dump();
  out.metadata["neon.callbacks"] = callbacks.dump();
  if (!of_earlier_phases.empty()) out.metadata[kEarlierPhases] = json(of_earlier_phases).dump();
  MeaningTexts meaning = write_meaning(data, data.source);
  out.metadata["neon.data"] = std::move(meaning.data);
  out.metadata["neon.classes"] = std::move(meaning.classes);
  if (!position.run.empty()) out.metadata["neon.run"] = position.run;
  return out;
}

StoredRun unpack_run(TensorFile file, const std::string& path) {
  StoredRun out;
  auto metadata = [&](const char* key) -> const std::string& {
    const auto found = file.metadata.find(key);
    if (found == file.metadata.end())
      fail(ErrorKind::data, path, ": no '", key, "' in its metadata: this is not a checkpoint of neon");
    return found->second;
  };
  out.spec = read_yaml_text(metadata("neon.spec"), path + kStoredSpec);
  const Setting options = read_yaml_text(metadata("neon.options"), path + "#options");
  if (!options.is_map())
    fail(ErrorKind::data, path, ": its metadata cannot be read: neon.options is no map of options");
  out.options = read_params<RunOptions>(options);
  const std::string& position = metadata("neon.position");
  const MeaningTexts meaning{metadata("neon.data"), metadata("neon.classes")};
  try {
    out.position = read_position(json::parse(position));
    out.meaning = read_meaning(meaning);
  } catch (const std::exception& error) {
    fail(ErrorKind::data, path, ": its metadata cannot be read: ", reason_of(error, "they are not those of a run"));
  }
  const std::string seal = own_seal(metadata("neon.spec"), metadata("neon.options"));
  out.is_own = !seal.empty() && file.metadata.contains("neon.seal") && metadata("neon.seal") == seal;
  if (file.metadata.count("neon.run")) out.position.run = file.metadata.at("neon.run");
  out.file = std::move(file);
  return out;
}

std::optional<bool> trained_as_caffe(const TensorFile& file) {
  const auto found = file.metadata.find("neon.options");
  if (found == file.metadata.end()) return std::nullopt;
  try {
    const Setting options = read_yaml_text(found->second, "#options");
    const Setting* const caffe = options.is_map() ? options.find("caffe") : nullptr;
    if (caffe && caffe->is_scalar() && (caffe->value == "true" || caffe->value == "false"))
      return caffe->value == "true";
  } catch (const Error&) {  // of another version, or damaged: its weights may be good all the same
  }
  return std::nullopt;
}

namespace {

// Whether NAME is "OTHER/..." of another one of them: state that belongs to it.
bool belongs_to_another(const std::string& name, auto&& is_one) {
  for (size_t slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1))
    if (is_one(name.substr(0, slash))) return true;
  return false;
}

// Arrays of layers and optimizers that only phases before the last had.
std::set<std::string> of_earlier_phases(const TensorFile& file) {
  const auto found = file.metadata.find(kEarlierPhases);
  if (found == file.metadata.end()) return {};
  const json names = json::parse(found->second, nullptr, false);
  std::set<std::string> out;
  for (const json& name : names)
    if (name.is_string()) out.insert(name.get<std::string>());
  return out;
}

}  // namespace

void another_net(const std::string& path, const std::vector<std::string>& differences) {
  constexpr size_t kMostShown = 8;
  const size_t shown = std::min(differences.size(), kMostShown);
  std::string list = join({differences.begin(), differences.begin() + long(shown)}, "; ");
  if (shown < differences.size()) list += text("; and ", differences.size() - shown, " more");
  fail(ErrorKind::config, path, " is a checkpoint of another net: ", list);
}

std::string misfit(const std::string& name, const Tensor& stored, const Tensor& here, bool rounds) {
  const bool can_round = rounds && is_floating(here.dtype()) && is_floating(stored.dtype());
  if ((here.dtype() == stored.dtype() || can_round) && here.shape() == stored.shape()) return "";
  return text(name, " is ", stored.dtype(), " ", stored.shape(), " in the file, ", here.dtype(), " ", here.shape(),
              " in the net");
}

TensorFile evaluated_weights(const TensorFile& file, bool running_means) {
  TensorFile out;
  const std::set<std::string> earlier = of_earlier_phases(file);
  for (const NamedTensor& named : file.tensors) {
    if (named.name.starts_with("callback/") || belongs_to_step(named.name) || earlier.contains(named.name)) continue;
    if (belongs_to_another(named.name, [&](const std::string& name) { return file.find(name) != nullptr; })) continue;
    const Tensor* mean = running_means ? file.find(named.name + "/ema") : nullptr;
    // A mean of another kind of numbers stays as it is, and is found to be another net's.
    const bool rounds = mean && is_floating(mean->dtype()) && is_floating(named.tensor.dtype());
    out.tensors.push_back({named.name, rounds ? mean->converted(named.tensor.dtype()) : mean ? *mean : named.tensor});
  }
  return out;
}

void declare_variables(const Graph& graph, Variables& variables) {
  for (const Value value : graph.leaves(LeafKind::variable))
    variables.declare(graph.producer(value).attributes.string("name"), graph.type(value).dtype,
                      graph.type(value).shape);
}

void restore_variables(const TensorFile& file, const std::string& path, Variables& variables, bool weights_only) {
  std::vector<std::string> differences;
  std::vector<const NamedTensor*> wanted;
  std::set<std::string> stored;
  const TensorFile weights = weights_only ? evaluated_weights(file, true) : TensorFile{};
  for (const NamedTensor& named : weights_only ? weights.tensors : file.tensors) {
    if (named.name.starts_with("callback/")) continue;
    stored.insert(named.name);
    wanted.push_back(&named);
    if (!variables.has(named.name)) {
      differences.push_back(text(named.name, " ", named.tensor.shape(), " is in the file only"));
      continue;
    }
    if (std::string unlike = misfit(named.name, named.tensor, variables.at(named.name), weights_only); !unlike.empty())
      differences.push_back(std::move(unlike));
  }
  auto is_variable = [&](const std::string& name) { return variables.has(name); };
  for (const auto& [name, tensor] : variables.all())
    if (!belongs_to_evaluation(name) && !stored.count(name) &&
        !(weights_only && (belongs_to_step(name) || belongs_to_another(name, is_variable))))
      differences.push_back(text(name, " ", tensor.shape(), " is in the net only"));
  if (!differences.empty()) another_net(path, differences);
  for (const NamedTensor* named : wanted) variables.at(named->name).copy_from(named->tensor);
}

namespace {

std::string name_and_subject(const Made<Callback>& callback) {
  const Setting& resolved = callback.resolved();
  return text(resolved.is_map() ? resolved.entries.at(0).key : resolved.value, ' ', callback->subject());
}

// The callbacks of a checkpoint's spec, without their states.
std::vector<Made<Callback>> stored_callbacks(const StoredRun& run) {
  const Setting spec = read_yaml_text(run.file.metadata.at("neon.spec"), kStoredSpec);
  std::vector<Made<Callback>> out;
  Problems problems;
  if (const Setting* list = spec.find("callbacks"))
    Value_of<std::vector<Made<Callback>>>::read(*list, out, {}, problems);
  problems.throw_if_any();
  for (const auto& callback : out)
    if (!callback) fail(ErrorKind::data, "its spec has a callback without a name");
  return out;
}

// The state of the Kth of a checkpoint.
void restore_callback(Callback& callback, const StoredRun& run, const json& states, size_t k) {
  std::map<std::string, double> state;
  for (const auto& [name, value] : states.at(k).items()) state[name] = read_exact(value);
  std::map<std::string, Tensor> arrays;
  const std::string prefix = text("callback/", k, "/");
  for (const NamedTensor& named : run.file.tensors)
    if (named.name.starts_with(prefix)) arrays[named.name.substr(prefix.size())] = named.tensor;
  if (!state.empty()) callback.restore(state);
  if (!arrays.empty()) callback.restore_arrays(arrays);
}

}  // namespace

std::vector<Made<Callback>> restore_callbacks(const StoredRun& run, const Experiment& experiment) {
  std::vector<Made<Callback>> out;
  try {
    const json states = json::parse(run.file.metadata.at("neon.callbacks"));
    const std::vector<Made<Callback>> stored = stored_callbacks(run);
    std::vector<Made<Callback>> here = experiment.params.callbacks;
    for (size_t k = 0; k < stored.size(); ++k) {
      const auto same = std::ranges::find_if(
          here, [&](const auto& callback) { return name_and_subject(callback) == name_and_subject(stored[k]); });
      const Made<Callback>& heir = out.emplace_back(same == here.end() ? stored[k] : *same);
      restore_callback(*heir, run, states, k);
      if (same != here.end()) here.erase(same);
    }
  } catch (const std::exception& error) {
    fail(ErrorKind::data,
         "the checkpoint's callback states cannot be read: ", reason_of(error, "they are not those of its callbacks"));
  }
  return out;
}

}  // namespace neon
