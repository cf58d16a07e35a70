#include "neon/train/run_state.h"

#include <nlohmann/json.hpp>
#include <set>

#include "neon/spec/yaml.h"

namespace neon {

namespace {

using nlohmann::json;

// JSON has no NaN; numbers travel as the shortest text that reads back.
std::string exact(double value) { return number(value); }

double parse_exact(const json& value) { return std::strtod(value.get<std::string>().c_str(), nullptr); }

json position_json(const Position& p) {
  return {{"epoch", p.epoch},
          {"step_in_epoch", p.step_in_epoch},
          {"step", p.step},
          {"cost_sum", exact(p.cost_sum)},
          {"samples", p.samples},
          {"loss_scale", exact(p.loss_scale)},
          {"good_steps", p.good_steps},
          {"skipped", p.skipped},
          {"seed", p.seed},
          {"seconds", exact(p.seconds)},
          {"threads", p.threads},
          {"simd", p.simd},
          {"version", p.version},
          {"data", p.data}};
}

Position position_from(const json& j) {
  Position p;
  p.epoch = j.at("epoch").get<int64_t>();
  p.step_in_epoch = j.at("step_in_epoch").get<int64_t>();
  p.step = j.at("step").get<int64_t>();
  p.cost_sum = parse_exact(j.at("cost_sum"));
  p.samples = j.at("samples").get<int64_t>();
  p.loss_scale = parse_exact(j.at("loss_scale"));
  p.good_steps = j.at("good_steps").get<int64_t>();
  p.skipped = j.at("skipped").get<int64_t>();
  p.seed = j.at("seed").get<uint64_t>();
  p.seconds = parse_exact(j.at("seconds"));
  p.threads = j.at("threads").get<int64_t>();
  p.simd = j.at("simd").get<std::string>();
  p.version = j.at("version").get<std::string>();
  p.data = j.at("data").get<std::string>();
  if (p.epoch < 0 || p.step_in_epoch < 0 || p.step < 0 || p.samples < 0) fail(ErrorKind::data, "a position below 0");
  return p;
}

}  // namespace

TensorFile pack_run(const Experiment& experiment, const Setting& resolved, const RunOptions& options,
                    const Position& position, const Variables& variables, const Data& data) {
  TensorFile out;
  for (const auto& [name, tensor] : variables.all()) out.tensors.push_back({name, tensor});
  json callbacks = json::array();
  for (size_t k = 0; k < experiment.params.callbacks.size(); ++k) {
    const Callback& callback = *experiment.params.callbacks[k];
    json state = json::object();
    for (const auto& [name, value] : callback.state()) state[name] = exact(value);
    callbacks.push_back(state);
    for (const auto& [name, tensor] : callback.arrays())
      out.tensors.push_back({text("callback/", k, "/", name), tensor});
  }
  out.metadata["neon.spec"] = write_yaml(resolved);
  out.metadata["neon.options"] = write_yaml(write_params(options));
  out.metadata["neon.position"] = position_json(position).dump();
  out.metadata["neon.callbacks"] = callbacks.dump();
  out.metadata["neon.data"] = json{
      {"source", data.source},
      {"scale", exact(data.scale)},
      {"shift", exact(data.shift)},
      {"sample", std::vector<int64_t>(data.sample.begin(), data.sample.end())},
      {"classes", data.classes}}.dump(-1, ' ', false, json::error_handler_t::replace);
  out.metadata["neon.classes"] = json(data.class_names).dump(-1, ' ', false, json::error_handler_t::replace);
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
  out.spec = read_yaml_text(metadata("neon.spec"), path + "#spec");
  out.options = read_params<RunOptions>(read_yaml_text(metadata("neon.options"), path + "#options"));
  try {
    out.position = position_from(json::parse(metadata("neon.position")));
    out.class_names = json::parse(metadata("neon.classes")).get<std::vector<std::string>>();
  } catch (const std::exception& error) {
    fail(ErrorKind::data, path, ": its metadata cannot be read: ", error.what());
  }
  if (file.metadata.count("neon.run")) out.position.run = file.metadata.at("neon.run");
  out.file = std::move(file);
  return out;
}

namespace {

// Whether NAME is "OTHER/..." of another one of them: state that belongs to it.
bool belongs_to_another(const std::string& name, auto&& is_one) {
  for (size_t slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1))
    if (is_one(name.substr(0, slash))) return true;
  return false;
}

[[noreturn]] void another_net(const std::string& path, const std::vector<std::string>& differences) {
  constexpr size_t kMostShown = 8;
  const size_t shown = std::min(differences.size(), kMostShown);
  std::string list = join({differences.begin(), differences.begin() + long(shown)}, "; ");
  if (shown < differences.size()) list += text("; and ", differences.size() - shown, " more");
  fail(ErrorKind::config, path, " is a checkpoint of another net: ", list);
}

}  // namespace

TensorFile evaluated_weights(const TensorFile& file, bool running_means) {
  TensorFile out;
  for (const NamedTensor& named : file.tensors) {
    if (named.name.starts_with("callback/")) continue;
    if (belongs_to_another(named.name, [&](const std::string& name) { return file.find(name) != nullptr; })) continue;
    const Tensor* mean = running_means ? file.find(named.name + "/ema") : nullptr;
    out.tensors.push_back({named.name, mean ? mean->converted(named.tensor.dtype()) : named.tensor});
  }
  return out;
}

void restore_variables(const TensorFile& file, const std::string& path, Variables& variables, bool weights_only) {
  std::vector<std::string> differences;
  std::vector<const NamedTensor*> wanted;
  std::set<std::string> stored;
  const TensorFile weights = weights_only ? evaluated_weights(file, false) : TensorFile{};
  for (const NamedTensor& named : weights_only ? weights.tensors : file.tensors) {
    if (named.name.starts_with("callback/")) continue;
    stored.insert(named.name);
    wanted.push_back(&named);
    if (!variables.has(named.name)) {
      differences.push_back(text(named.name, " ", named.tensor.shape(), " is in the file only"));
      continue;
    }
    const Tensor& here = variables.at(named.name);
    const bool rounds = weights_only && is_floating(here.dtype()) && is_floating(named.tensor.dtype());
    if ((here.dtype() != named.tensor.dtype() && !rounds) || here.shape() != named.tensor.shape())
      differences.push_back(text(named.name, " is ", named.tensor.dtype(), " ", named.tensor.shape(), " in the file, ",
                                 here.dtype(), " ", here.shape(), " in the net"));
  }
  auto is_variable = [&](const std::string& name) { return variables.has(name); };
  for (const auto& [name, tensor] : variables.all())
    if (!stored.count(name) && !(weights_only && belongs_to_another(name, is_variable)))
      differences.push_back(text(name, " ", tensor.shape(), " is in the net only"));
  if (!differences.empty()) another_net(path, differences);
  for (const NamedTensor* named : wanted) variables.at(named->name).copy_from(named->tensor);
}

void restore_callbacks(const StoredRun& run, const Experiment& experiment) {
  json states;
  try {
    states = json::parse(run.file.metadata.at("neon.callbacks"));
    for (size_t k = 0; k < experiment.params.callbacks.size() && k < states.size(); ++k) {
      std::map<std::string, double> state;
      for (const auto& [name, value] : states[k].items()) state[name] = parse_exact(value);
      std::map<std::string, Tensor> arrays;
      const std::string prefix = text("callback/", k, "/");
      for (const NamedTensor& named : run.file.tensors)
        if (named.name.starts_with(prefix)) arrays[named.name.substr(prefix.size())] = named.tensor;
      if (!state.empty()) experiment.params.callbacks[k]->restore(state);
      if (!arrays.empty()) experiment.params.callbacks[k]->restore_arrays(arrays);
    }
  } catch (const std::exception& error) {
    fail(ErrorKind::data, "the checkpoint's callback states cannot be read: ", error.what());
  }
}

}  // namespace neon
