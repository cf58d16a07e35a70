#include "neon/spec/older_mapping.h"

#include <algorithm>
#include <map>
#include <set>

#include "neon/core/params.h"
#include "neon/spec/notation.h"

namespace neon {

namespace {

constexpr const char* kConvolutionWithBias = "Convolution_bias";

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
    if (wanted == kConvolutionWithBias && name == "Conv" && given("bias")) return true;
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
    constexpr std::string_view kClasses[] = {
        "Bias", "BatchNorm", "Linear",       "Convolution",        "Deconvolution",  "LookupTable",      "Recurrent",
        "LSTM", "GRU",       "BinaryLinear", kConvolutionWithBias, "ShiftBatchNorm", "BatchNormAutodiff"};
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

// Layers all of whose parameters were of one class, with the name of that class.
constexpr std::pair<std::string_view, std::string_view> kWhole[] = {{"Recurrent", "Recurrent"},
                                                                    {"LSTM", "LSTM"},
                                                                    {"GRU", "GRU"},
                                                                    {"BiRNN", "BiRNN"},
                                                                    {"BiLSTM", "BiLSTM"},
                                                                    {"BiBNRNN", "BiBNRNN"},
                                                                    {"DeepBiRNN", "BiRNN"},
                                                                    {"DeepBiLSTM", "BiLSTM"},
                                                                    {"Conv", kConvolutionWithBias},
                                                                    {kConvolutionWithBias, kConvolutionWithBias},
                                                                    {"ShiftBatchNorm", "ShiftBatchNorm"},
                                                                    {"BatchNormAutodiff", "BatchNormAutodiff"}};

// Classes of 1.x beside BatchNorm, which is ours of their parameters.
bool is_other_norm(std::string_view layer_class) {
  return layer_class == "ShiftBatchNorm" || layer_class == "BatchNormAutodiff";
}

bool names_norm(const Setting& mapping) {
  return mapping.find("BatchNorm") || mapping.find("ShiftBatchNorm") || mapping.find("BatchNormAutodiff");
}

bool is_whole_class(std::string_view name) {
  return std::ranges::any_of(kWhole, [&](const auto& one) { return one.second == name; });
}

// Batch norm takes the place of the biases.
bool has_norm(std::string_view layer_class, const Setting& params) {
  const Setting* const norm = params.find("batch_norm");
  bool asked = norm && norm->is_map();
  return layer_class == "BiBNRNN" || asked || (norm && detail::read_bool(*norm, asked) && asked);
}

bool has_biases(std::string_view layer_class, const Setting& params) {
  return !has_norm(layer_class, params) && !is_other_norm(layer_class) &&
         (layer_class != kConvolutionWithBias || params.find("bias"));
}

// The class in kWhole; "" of other layers. A Conv and its biases were of one class from neon 2.3 on, whose
// mappings name the class.
std::string_view whole_class(std::string_view layer_class, const Setting& params, const Setting& mapping) {
  const auto* const found = std::ranges::find_if(kWhole, [&](const auto& one) { return one.first == layer_class; });
  if (found == std::end(kWhole)) return "";
  if (is_other_norm(layer_class) && !names_norm(mapping)) return "";
  const bool is_filter = layer_class == "Conv";
  if (is_filter && (!mapping.find(kConvolutionWithBias) || !params.find("bias") || has_norm(layer_class, params)))
    return "";
  return found->second;
}

// Such layers without parameters as objects with none.
void spell_out_norms(Setting& setting) {
  if (setting.is_scalar() && is_other_norm(last_part(class_of(setting))))
    setting = Setting::map({{setting.value, Setting::map({}, setting.where), setting.where}}, setting.where);
  for (Setting& item : setting.items) spell_out_norms(item);
  for (auto& entry : setting.entries)
    if (entry.value.is_list() || entry.value.is_map()) spell_out_norms(entry.value);
}

// Calls `change` with the class and the parameters of each object with parameters, in the order of the net.
void each_in_order(Setting& setting, const auto& change) {
  if (is_object(setting) && setting.entries[0].value.is_map())
    change(last_part(class_of(setting)), setting.entries[0].value);
  for (Setting& item : setting.items) each_in_order(item, change);
  for (auto& entry : setting.entries) each_in_order(entry.value, change);
}

bool names_whole(const Setting& mapping) {
  return mapping.find("Bias") || mapping.find("BatchNorm") ||
         std::ranges::any_of(mapping.entries, [](const Setting::Entry& entry) { return is_whole_class(entry.key); });
}

// The layer's name, which it gets if it has none: the one that a net gives to it.
std::string name_of_layer(Setting& params, std::string_view layer_class, int number) {
  if (const Setting* const name = params.find("name"); name && name->is_scalar() && !name->value.empty())
    return name->value;
  const std::string name = text(layer_class, '_', number);
  params.entries.push_back({"name", Setting::scalar(name, params.where), params.where});
  return name;
}

// All parameters of such a layer get the optimizer of its name, else of its class, else the default.
void spell_out_whole(Setting& mapping, Setting& layers, std::vector<std::string>& notes) {
  if (!names_whole(mapping)) return;
  if (names_norm(mapping)) spell_out_norms(layers);
  std::map<std::string, int> numbers;
  std::set<std::string_view> served;
  each_in_order(layers, [&](std::string_view written, Setting& params) {
    const std::string_view mapped = whole_class(written, params, mapping);
    const std::string_view own = written == kConvolutionWithBias ? "Conv" : written;  // an alias: names have Conv
    const int number = numbers[std::string(own)]++;
    if (mapped.empty()) return;
    const std::string name = name_of_layer(params, own, number);
    const Setting* serving = mapping.find(name);
    if (!serving && (serving = mapping.find(mapped))) served.insert(mapped);
    if (!serving) serving = mapping.find("default");
    if (!serving) return;
    const Setting optimizer = *serving;
    std::string added;
    for (const std::string& key : {name, name + "_bias"}) {
      if (mapping.find(key) || (key != name && !has_biases(written, params))) continue;
      mapping.entries.push_back({key, optimizer, optimizer.where});
      added += text(added.empty() ? "" : " and ", key);
    }
    if (!added.empty())
      notes.push_back(text(params.where, ": one optimizer serves all parameters of ", name, ", as in neon 1.x: ", added,
                           " of the mapping"));
  });
  std::erase_if(mapping.entries, [&](const Setting::Entry& entry) {
    if (!is_whole_class(entry.key) || has_name(layers, entry.key)) return false;
    if (!served.contains(entry.key))
      notes.push_back(text(entry.where, ": ", entry.key, " serves no layer; its optimizer is left out"));
    return true;
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
  spell_out_whole(mapping, *layers, notes);
}

}  // namespace neon
