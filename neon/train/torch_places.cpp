#include "neon/train/torch_places.h"

#include <algorithm>

#include "neon/train/torch_layout.h"

namespace neon {

namespace {

// The part of a module that an array is.
std::string part_of(const std::string& array, const std::string& layer_class) {
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

[[noreturn]] void other_module(const std::string& path, const TorchOrder& order, const std::string& module,
                               const Tensor* weight, const Place& place) {
  fail(ErrorKind::config, path, " does not fit the net: ", module, ".weight is ",
       weight ? weight->shape().to_string() : "missing", " in the file, and ", place.name, " of the net would be ",
       torch_shape(*place.parameter), " there. Layers are compared in the order of torchvision's ", order.family,
       "; layers with the names of their modules are taken by name");
}

}  // namespace

std::vector<Place> places_of(const StepGraph& graph) {
  std::vector<Place> out;
  for (const Parameter& p : graph.parameters) {
    const auto [unit, array] = unit_and_array(p.name);
    const bool is_bias = p.layer_class == "Bias";
    Place place{p.name, p.owner, is_bias ? p.owner : unit, {p.layer}, part_of(array, p.layer_class), &p};
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
                   part_of(array, ""),
                   nullptr,
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
  for (size_t i = 0; i < std::min(units.size(), order.modules.size()); ++i) {
    const Place& unit = *units[i];
    const Tensor* const weight = modules.at(order.modules[i]).find("weight");
    const Shape expected = torch_shape(*unit.parameter);
    const bool same_kind = weight && unit.part == "weight" && weight->shape().rank() == expected.rank();
    const bool fits = same_kind && (weight->shape() == expected || last.contains(unit.owner));
    if (!fits && std::all_of(units.begin() + int64_t(i), units.end(), is_dense)) return;
    if (!fits) other_module(path, order, order.modules[i], weight, unit);
    for (Place& place : places)
      if (place.unit == unit.unit) place.modules = {order.modules[i]};
  }
}

}  // namespace neon
