#include "neon/spec/older_mapping.h"

#include <algorithm>
#include <map>

#include "neon/core/params.h"
#include "neon/spec/notation.h"

namespace neon {

namespace {

// Classes of parameters that a mapping may name, and whether a net has some.
bool has_class(const Setting& setting, std::string_view wanted) {
  if (is_object(setting) || (setting.is_scalar() && !class_of(setting).empty())) {
    const std::string_view name = last_part(class_of(setting));
    const Setting* const params = is_object(setting) ? &setting.entries[0].value : nullptr;
    const auto given = [&](const char* key) { return params && params->is_map() && params->find(key); };
    constexpr std::pair<std::string_view, std::string_view> kLists[] = {// classes in lists of layers
                                                                        {"Linear", "Affine"},
                                                                        {"Convolution", "Conv"},
                                                                        {"Deconvolution", "Deconv"},
                                                                        {"BinaryLinear", "BinaryAffine"}};
    const bool own = name == wanted || std::ranges::count(kLists, std::pair(wanted, name)) > 0;
    if (own || (wanted == "Bias" && given("bias")) || (wanted == "BatchNorm" && given("batch_norm"))) return true;
  }
  return std::ranges::any_of(setting.items, [&](const Setting& item) { return has_class(item, wanted); }) ||
         std::ranges::any_of(setting.entries, [&](const auto& entry) { return has_class(entry.value, wanted); });
}

bool has_name(const Setting& setting, std::string_view wanted) {
  const Setting* const name = setting.is_map() ? setting.find("name") : nullptr;
  if (name && name->is_scalar() && name->value == wanted) return true;
  return std::ranges::any_of(setting.items, [&](const Setting& item) { return has_name(item, wanted); }) ||
         std::ranges::any_of(setting.entries, [&](const auto& entry) { return has_name(entry.value, wanted); });
}

void leave_out_absent(Setting& mapping, const Setting& layers, std::vector<std::string>& notes) {
  std::erase_if(mapping.entries, [&](const Setting::Entry& entry) {
    constexpr std::string_view kClasses[] = {"Bias",        "BatchNorm", "Linear", "Convolution", "Deconvolution",
                                             "LookupTable", "Recurrent", "LSTM",   "GRU",         "BinaryLinear"};
    // Lists of layers, and layers without parameters: no parameter was of these classes.
    constexpr std::string_view kNever[] = {"Affine",     "Conv",    "Deconv", "BinaryAffine",
                                           "Activation", "Dropout", "Pooling"};
    const bool never = std::ranges::count(kNever, entry.key) > 0;
    if (has_name(layers, entry.key)) return false;
    if (!never && (!std::ranges::count(kClasses, entry.key) || has_class(layers, entry.key))) return false;
    notes.push_back(text(entry.where, ": no layer has parameters of class ", entry.key, "; its optimizer is left out"));
    return true;
  });
}

// Recurrent layers, with the class by which a mapping of 1.x named them.
constexpr std::pair<std::string_view, std::string_view> kRecurrent[] = {
    {"Recurrent", "Recurrent"}, {"LSTM", "LSTM"},       {"GRU", "GRU"},         {"BiRNN", "BiRNN"},
    {"BiLSTM", "BiLSTM"},       {"BiBNRNN", "BiBNRNN"}, {"DeepBiRNN", "BiRNN"}, {"DeepBiLSTM", "BiLSTM"}};

// Calls `change` with the class and the parameters of each recurrent layer, in the order of the net.
void each_recurrent(Setting& setting, const auto& change) {
  if (is_object(setting) && setting.entries[0].value.is_map()) {
    const auto* const found = std::ranges::find(kRecurrent, last_part(class_of(setting)),
                                                &std::pair<std::string_view, std::string_view>::first);
    if (found != std::end(kRecurrent)) change(*found, setting.entries[0].value);
  }
  for (Setting& item : setting.items) each_recurrent(item, change);
  for (auto& entry : setting.entries) each_recurrent(entry.value, change);
}

// Batch norm takes the place of the biases.
bool has_norm(std::string_view layer_class, const Setting& params) {
  const Setting* const norm = params.find("batch_norm");
  bool asked = false;
  return layer_class == "BiBNRNN" || (norm && detail::read_bool(*norm, asked) && asked);
}

bool names_recurrent(const Setting& mapping) {
  return mapping.find("Bias") || std::ranges::any_of(mapping.entries, [](const Setting::Entry& entry) {
           return std::ranges::count(kRecurrent, entry.key, &std::pair<std::string_view, std::string_view>::second) > 0;
         });
}

// The layer's name, which it gets if it has none: the one that a net gives to it.
std::string name_of_layer(Setting& params, std::string_view layer_class, int number) {
  if (const Setting* const name = params.find("name"); name && name->is_scalar() && !name->value.empty())
    return name->value;
  const std::string name = text(layer_class, '_', number);
  params.entries.push_back({"name", Setting::scalar(name, params.where), params.where});
  return name;
}

// All parameters of a recurrent layer get the optimizer of its name, else of its class, else the default.
void spell_out_recurrent(Setting& mapping, Setting& layers, std::vector<std::string>& notes) {
  if (!names_recurrent(mapping)) return;
  std::map<std::string_view, int> numbers;
  each_recurrent(layers, [&](const auto& classes, Setting& params) {
    const auto& [own, mapped] = classes;
    const std::string name = name_of_layer(params, own, numbers[own]++);
    const Setting* serving = mapping.find(name);
    if (!serving) serving = mapping.find(mapped);
    if (!serving) serving = mapping.find("default");
    if (!serving) return;
    const Setting optimizer = *serving;
    std::string added;
    for (const std::string& key : {name, name + "_bias"}) {
      if (mapping.find(key) || (key != name && has_norm(own, params))) continue;
      mapping.entries.push_back({key, optimizer, optimizer.where});
      added += text(added.empty() ? "" : " and ", key);
    }
    if (!added.empty())
      notes.push_back(text(params.where, ": one optimizer serves all parameters of ", name, ", as in neon 1.x: ", added,
                           " of the mapping"));
  });
  std::erase_if(mapping.entries, [&](const Setting::Entry& entry) {
    return std::ranges::count(kRecurrent, entry.key, &std::pair<std::string_view, std::string_view>::second) > 0 &&
           !has_name(layers, entry.key);
  });
}

}  // namespace

void convert_mapping(Setting& params, Setting& root, std::vector<std::string>& notes) {
  Setting* const layers = root.find("layers");
  Setting* const nested = params.find("optimizer_mapping");
  Setting& mapping = nested ? *nested : params;
  if (!layers || !mapping.is_map()) return;
  leave_out_absent(mapping, *layers, notes);
  for (Setting::Entry& entry : mapping.entries)
    if (entry.key == "LookupTable" && !has_name(*layers, entry.key)) entry.key = "Embedding";
  spell_out_recurrent(mapping, *layers, notes);
}

}  // namespace neon
