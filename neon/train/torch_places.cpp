#include "neon/train/torch_places.h"

#include <algorithm>

#include "neon/train/torch_layout.h"

namespace neon {

namespace {

// The part of a module that an array is.
std::string part_of_module(const std::string& array, const std::string& layer_class) {
  if (array == "gmean") return "running_mean";
  if (array == "gvar") return "running_var";
  if (array == "gamma" || array == "W") return "weight";
  return array == "beta" || (array == "b" && layer_class == "Bias") ? "bias" : "";
}

std::pair<std::string, std::string> unit_and_array(const std::string& name) {
  const size_t slash = name.rfind('/');
  return {name.substr(0, slash), name.substr(slash + 1)};
}

// The first arrays of the net's units, in the order of its layers.
std::vector<const Place*> first_arrays(const std::vector<Place>& places) {
  std::vector<const Place*> out;
  std::set<std::string> met;
  for (const Place& place : places)
    if (place.parameter && met.insert(place.unit).second) out.push_back(&place);
  return out;
}

bool is_dense(const Place* place) { return place->parameter->layer_class == "Linear"; }

// The sentence about a batch norm that either the net or the file has there alone; "": it is about something else.
std::string lone_batch_norm(const TorchModule& before, const TorchModule& module, const Place& unit_before,
                            const Place& unit) {
  const bool in_file = module.find("running_mean"), in_net = unit.parameter->layer_class == "BatchNorm";
  if (in_file == in_net) return "";
  if (in_net)
    return text(unit.unit, " of the net is a batch norm, and the file has none between ", before.name, " and ",
                module.name, before.find("bias") ? "; write `bias: {Constant: 0}` in its place" : "; leave it out",
                ", or take the weights of a net that has it");
  return text(module.name, " of the file is a batch norm, and the net has none between ", unit_before.unit, " and ",
              unit.unit, "; write `batch_norm: true`, or take the weights of a net without it");
}

std::string other_shape(const TorchModule& module, const Place& place) {
  const Tensor* const weight = module.find("weight");
  return text(module.name, ".weight is ", weight ? weight->shape().to_string() : "missing", " in the file, and ",
              place.name, " of the net would be ", place.shape, " there");
}

}  // namespace

std::vector<Place> places_of(const StepGraph& graph) {
  std::vector<Place> out;
  for (const Parameter& p : graph.parameters) {
    const auto [unit, array] = unit_and_array(p.name);
    const bool is_bias = p.layer_class == "Bias";
    Place place{p.name, p.owner,       is_bias ? p.owner : unit, {p.layer}, part_of_module(array, p.layer_class),
                &p,     torch_shape(p)};
    if (p.layer_class != "BatchNorm" && p.layer != p.owner) place.modules.push_back(p.owner);
    out.push_back(std::move(place));
  }
  for (const LayerState& s : graph.states) {
    const auto [unit, array] = unit_and_array(s.name);
    const auto gamma = std::ranges::find(graph.parameters, unit + "/gamma", &Parameter::name);
    if (gamma == graph.parameters.end()) continue;
    out.push_back({s.name,
                   s.owner,
                   unit,
                   {gamma->layer},
                   part_of_module(array, ""),
                   nullptr,
                   s.shape,
                   array == "gmean",
                   array == "gvar",
                   gamma->name});
  }
  return out;
}

void pair_in_order(std::vector<Place>& places, const std::map<std::string, TorchModule>& modules,
                   const TorchOrder& order, const std::set<std::string>& last, const std::string& path) {
  for (Place& place : places) place.modules.clear();
  const std::vector<const Place*> units = first_arrays(places);
  const auto module_at = [&](size_t i) -> const TorchModule& { return modules.at(order.modules[i]); };
  for (size_t i = 0; i < std::min(units.size(), order.modules.size()); ++i) {
    const Place& unit = *units[i];
    const Tensor* const weight = module_at(i).find("weight");
    const Shape expected = unit.shape;
    const bool same_kind = weight && unit.part == "weight" && weight->shape().rank() == expected.rank();
    const bool fits = same_kind && (weight->shape() == expected || last.contains(unit.owner));
    if (!fits && std::all_of(units.begin() + int64_t(i), units.end(), is_dense)) return;
    if (!fits) {
      const std::string norm =
          i > 0 ? lone_batch_norm(module_at(i - 1), module_at(i), *units[i - 1], unit) : std::string();
      fail(ErrorKind::config, path, " does not fit the net: ", norm.empty() ? other_shape(module_at(i), unit) : norm,
           ". Layers are compared in the order of torchvision's ", order.family,
           "; layers with the names of their modules are taken by name");
    }
    for (Place& place : places)
      if (place.unit == unit.unit) place.modules = {order.modules[i]};
  }
}

}  // namespace neon
