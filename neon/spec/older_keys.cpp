#include "neon/spec/older_keys.h"

#include <algorithm>

#include "neon/core/params.h"
#include "neon/spec/notation.h"
#include "neon/spec/older_mapping.h"

namespace neon {

namespace {

constexpr const char* kUsualLimit = "5";  // of gradients, where neon 1.0 clipped them

bool is_true(const Setting& setting) {
  bool out = false;
  return detail::read_bool(setting, out) && out;
}

bool is_false(const Setting& setting) {
  bool out = true;
  return detail::read_bool(setting, out) && !out;
}

// Calls `change` with the class and the parameters of every object under it.
void each_object(Setting& setting, const auto& change) {
  if (is_object(setting) && setting.entries[0].value.is_map())
    change(last_part(setting.entries[0].key), setting.entries[0].value);
  for (Setting& item : setting.items) each_object(item, change);
  for (auto& entry : setting.entries) each_object(entry.value, change);
}

void leave_out_none(Setting& params) {
  std::erase_if(params.entries, [](const Setting::Entry& entry) { return entry.value.is_null(); });
}

// Batch norm takes a bias away with the mean.
void leave_out_idle_bias(Setting& params, std::vector<std::string>& notes) {
  const Setting* const norm = params.find("batch_norm");
  if (!norm || !is_true(*norm)) return;
  std::erase_if(params.entries, [&](const Setting::Entry& entry) {
    if (entry.key != "bias") return false;
    notes.push_back(text(entry.where, ": 'bias' beside batch_norm changes no output and is left out"));
    return true;
  });
}

// BatchNorm without parameters as an object with none.
void spell_out_batch_norm(Setting& setting) {
  if (setting.is_scalar() && last_part(class_of(setting)) == "BatchNorm")
    setting = Setting::map({{setting.value, Setting::map({}, setting.where), setting.where}}, setting.where);
  for (Setting& item : setting.items) spell_out_batch_norm(item);
  for (auto& entry : setting.entries)
    if (entry.value.is_list() || entry.value.is_map()) spell_out_batch_norm(entry.value);
}

// Defaults of neon 1.0 and 1.1.
void keep_batch_norm(std::string_view layer_class, Setting& params, std::vector<std::string>& notes) {
  constexpr std::pair<const char*, const char*> kDefaults[] = {{"rho", "0.99"}, {"eps", "1e-6"}};
  const auto complete = [&](Setting& norm) {
    for (const auto& [key, value] : kDefaults)
      if (!norm.find(key)) norm.entries.push_back({key, Setting::scalar(value, norm.where), norm.where});
  };
  if (layer_class == "BatchNorm") complete(params);
  if (Setting* const norm = params.find("batch_norm"); norm && is_true(*norm)) {
    *norm = Setting::map({}, norm->where);
    complete(*norm);
    notes.push_back(text(norm->where, ": batch_norm has rho 0.99 and eps 1e-6, as neon 1.0 had it"));
  }
}

// The rules each had their own; -u rounds the updates of a whole run. true: the usual bits.
void take_rounding(Setting& params, Conversion& conversion, std::vector<std::string>& notes) {
  std::erase_if(params.entries, [&](const Setting::Entry& entry) {
    if (entry.key != "stochastic_round" || is_false(entry.value)) return false;
    const bool usual = is_true(entry.value);
    int64_t bits = 0;
    if (!usual && !detail::read_integer(entry.value, bits)) return false;
    const std::string option = usual ? "" : text(' ', bits);
    notes.push_back(text(entry.where, ": 'stochastic_round' is an option of the run: -u", option));
    if (!conversion.options.find("rounding"))
      conversion.options.entries.push_back(
          {"rounding", Setting::scalar(usual ? "-1" : text(bits), entry.where), entry.where});
    return true;
  });
}

void leave_out(std::string_view layer_class, Setting& params, std::vector<std::string>& notes) {
  std::erase_if(params.entries, [&](const Setting::Entry& entry) {
    const bool idle = entry.key == "bsum" || entry.key == "parallelism" ||
                      (layer_class == "BatchNorm" && entry.key == "binary" && is_false(entry.value));
    if (idle) notes.push_back(text(entry.where, ": ", in_quotes(entry.key), " changes no result and is left out"));
    return idle;
  });
}

// Initializers, activations, costs and rules had names, too. With `of_layers`, objects in lists are layers, which keep
// theirs.
void leave_out_names(Setting& setting, bool is_layer, bool of_layers, std::vector<std::string>& notes) {
  const bool object = is_object(setting) && setting.entries[0].value.is_map();
  Setting& inner = object ? setting.entries[0].value : setting;
  if (object && !is_layer)
    std::erase_if(inner.entries, [&](const Setting::Entry& entry) {
      if (entry.key != "name" || !entry.value.is_scalar()) return false;
      notes.push_back(
          text(entry.where, ": the name of ", setting.entries[0].key, " changes no result and is left out"));
      return true;
    });
  for (Setting& item : inner.items) leave_out_names(item, is_layer, of_layers, notes);
  for (auto& entry : inner.entries)
    leave_out_names(entry.value, of_layers && object && entry.value.is_list(), of_layers, notes);
}

// A limit alone did nothing: gradients were clipped where clip_gradients said so.
void convert_clipping(Setting& params, std::vector<std::string>& notes) {
  const Setting* clip = params.find("clip_gradients");
  const Setting* given = params.find("gradient_limit");
  if (!clip && !given) return;
  if (clip && !is_true(*clip) && !is_false(*clip)) return;  // told as an unknown key
  const Setting limit = given ? *given : Setting::scalar(kUsualLimit, clip->where);
  const bool clips = clip && is_true(*clip), ours = params.find("gradient_clip_value");
  const char* why = !clips ? "without 'clip_gradients: true' changes no result"
                    : ours ? "beside 'gradient_clip_value', which counts, changes no result"
                           : "";
  std::erase_if(params.entries, [&](const Setting::Entry& entry) {
    if (entry.key != "clip_gradients" && entry.key != "gradient_limit") return false;
    if (*why)
      notes.push_back(text(entry.where, ": ", in_quotes(entry.key), ' ',
                           entry.key == "clip_gradients" && !clips ? "changes no result" : why, " and is left out"));
    return true;
  });
  if (clips && !ours) params.entries.push_back({"gradient_clip_value", limit, limit.where});
}

// These rules shortened their step, not the gradient.
void keep_clipped_step(Setting& params, std::vector<std::string>& notes) {
  const Setting* const norm = params.find("gradient_clip_norm");
  if (!norm || params.find("clip_step")) return;
  const Location where = norm->where;
  notes.push_back(text(where, ": 'gradient_clip_norm' shortens the step, as in neon 1.x (clip_step: true)"));
  params.entries.push_back({"clip_step", Setting::scalar("true", where), where});
}

// The key that makes an initializer take its fans from the sides of 1.x's matrix, or "".
const char* key_of_matrix_fans(std::string_view initializer) {
  if (initializer == "GlorotUniform") return "matrix";
  return initializer == "Kaiming" || initializer == "Xavier" ? "local" : "";
}

// 1.x computed fans from the sides of its weight matrix, whatever the layer.
void keep_matrix_fans(Setting& setting, std::vector<std::string>& notes) {
  if (const std::string name(last_part(class_of(setting))); *key_of_matrix_fans(name)) {
    if (setting.is_scalar())
      setting = Setting::map({{setting.value, Setting::map({}, setting.where), setting.where}}, setting.where);
    Setting& params = setting.entries[0].value;
    const char* const key = key_of_matrix_fans(name);
    if (!params.is_map() || params.find(key)) return;
    params.entries.push_back({key, Setting::scalar("true", setting.where), setting.where});
    notes.push_back(
        text(setting.where, ": ", name, " takes its fans from the weight matrix, as in neon 1.x (", key, ": true)"));
    return;
  }
  for (Setting& item : setting.items) keep_matrix_fans(item, notes);
  for (auto& entry : setting.entries) keep_matrix_fans(entry.value, notes);
}

// Names of layers within a list, those of branches included.
std::vector<std::string> layer_classes(const Setting& setting) {
  std::vector<std::string> out;
  if (const std::string_view name = class_of(setting); !name.empty()) out.emplace_back(last_part(name));
  const auto add = [&](const Setting& inner) {
    for (std::string& name : layer_classes(inner)) out.push_back(std::move(name));
  };
  for (const Setting& item : setting.items) add(item);
  for (const auto& entry : setting.entries) add(entry.value);
  return out;
}

bool is_of_steps(const Setting& layers) {
  constexpr std::string_view kCells[] = {"Recurrent", "LSTM", "GRU", "RNN"};
  constexpr std::string_view kSums[] = {"RecurrentSum", "RecurrentMean", "RecurrentLast"};
  bool out = false;
  for (const std::string& name : layer_classes(layers)) {
    if (std::ranges::count(kSums, name)) return false;
    out = out || std::ranges::any_of(kCells, [&](std::string_view cell) { return name.ends_with(cell); });
  }
  return out;
}

// The steps of a sequence, where the data set says them; otherwise 0.
int64_t steps_of(const Setting& root) {
  const Setting* const data = root.find("dataset");
  const Setting* const params = data && is_object(*data) ? &data->entries[0].value : nullptr;
  const Setting* const given = params && params->is_map() ? params->find("steps") : nullptr;
  int64_t out = 0;
  return given && detail::read_integer(*given, out) ? out : 0;
}

// Whether the cost has such a factor, and now has it.
bool multiply_gradient(Setting& cost, int64_t factor) {
  constexpr std::string_view kScaled[] = {"CrossEntropyMulti", "CrossEntropyBinary", "SumSquared"};
  const std::string_view name = last_part(class_of(cost));
  if (name == "GeneralizedCost" && is_object(cost)) {
    Setting* const inner = cost.entries[0].value.find("costfunc");
    return inner && multiply_gradient(*inner, factor);
  }
  if (!std::ranges::count(kScaled, name)) return false;
  if (cost.is_scalar()) cost = Setting::map({{cost.value, Setting::map({}, cost.where), cost.where}}, cost.where);
  Setting& params = cost.entries[0].value;
  double own = 1;
  if (const Setting* const scale = params.find("scale"); scale && !detail::read_real(*scale, own)) return false;
  std::erase_if(params.entries, [](const Setting::Entry& entry) { return entry.key == "scale"; });
  params.entries.push_back({"scale", Setting::scalar(number(own * double(factor)), cost.where), cost.where});
  return true;
}

// An optimizer divided by the samples of a batch alone.
void keep_sum_over_steps(Setting& root, std::vector<std::string>& notes) {
  Setting& layers = *root.find("layers");
  if (!is_of_steps(layers)) return;
  Setting* const cost = root.find("cost");
  const int64_t steps = steps_of(root);
  if (cost && steps > 0 && multiply_gradient(*cost, steps))
    notes.push_back(text(cost->where, ": scale: neon 1.x summed the gradients of the ", steps,
                         " steps of a sequence, which are a mean here"));
  else
    notes.push_back(text(layers.where,
                         ": gradients are means over the steps of a sequence, where neon 1.x summed them; "
                         "scale of the cost, the number of steps, gives the sum"));
}

void tell_of_variance(Setting& layers, std::vector<std::string>& notes) {
  constexpr std::string_view kNorms[] = {"BatchNorm", "ShiftBatchNorm", "BatchNormAutodiff"};
  const std::vector<std::string> names = layer_classes(layers);
  bool normed = std::ranges::any_of(kNorms, [&](std::string_view norm) { return std::ranges::count(names, norm) > 0; });
  each_object(layers, [&](std::string_view, const Setting& params) {
    if (const Setting* const norm = params.find("batch_norm")) normed = normed || norm->is_map() || is_true(*norm);
  });
  if (normed)
    notes.push_back(text(layers.where,
                         ": the running variance of batch norm begins at 1, where neon 1.x began at 0; a run of "
                         "few steps predicts otherwise"));
}

// Costs whose gradient was written for an activation before them, without its derivative.
bool has_cost(const Setting* cost, std::string_view activation) {
  const std::vector<std::string> names = cost ? layer_classes(*cost) : std::vector<std::string>();
  return std::ranges::count(names, activation == "Logistic" ? "CrossEntropyBinary" : "CrossEntropyMulti") > 0;
}

// Calls `see` with every activation.
void each_activation(const Setting& setting, const auto& see) {
  constexpr std::string_view kKeys[] = {"activation", "gate_activation", "transform"};
  for (const auto& entry : setting.entries)
    if (std::ranges::count(kKeys, entry.key)) see(entry.value);
    else each_activation(entry.value, see);
  for (const Setting& item : setting.items) each_activation(item, see);
}

void tell_of_activations(const Setting& layers, const Setting* cost, std::vector<std::string>& notes) {
  const Setting* last = nullptr;
  if (layers.is_list() && !layers.items.empty())
    each_activation(layers.items.back(), [&](const Setting& activation) { last = &activation; });
  each_activation(layers, [&](const Setting& activation) {
    const std::string name(last_part(class_of(activation)));
    const auto param = [&](const char* key) {
      return is_object(activation) ? activation.entries[0].value.find(key) : nullptr;
    };
    if (name == "Rectlinclip" && !param("slope"))
      notes.push_back(text(activation.where, ": slope of Rectlinclip is 0; before neon 1.8.1 it was 0.01"));
    const bool left_out = name == "Softmax" || name == "PixelwiseSoftmax" ||
                          (name == "Logistic" && param("shortcut") && is_true(*param("shortcut")));
    if (left_out && !(&activation == last && has_cost(cost, name)))
      notes.push_back(text(activation.where, ": the gradient of ", name,
                           " is complete; neon 1.x left its derivative out, which only ",
                           name == "Logistic" ? "CrossEntropyBinary" : "CrossEntropyMulti", " allows"));
  });
}

void check_convolution(const Setting& params, Problems& problems) {
  const Setting* local = params.find("local_conv");
  if (!local) return;
  problems.add(*local, is_false(*local) ? "a Conv shares its filters anyway; leave local_conv out"
                                        : "for filters that differ from place to place use the layer Local, with the "
                                          "fshape, nofm, strides and padding of a Conv");
}

void check_pooling(const Setting& params, Problems& problems) {
  constexpr const char* kMend = "the largest of neighbouring feature maps is a layer of its own: Maxout: {pieces: ";
  if (const Setting* op = params.find("op"); op && op->is_scalar() && op->value == "maxout")
    problems.add(*op, text(kMend, "N}"));
  const Setting* pieces = params.find("maxout");
  if (!pieces) return;
  const bool one = pieces->is_scalar() && pieces->value == "1";
  problems.add(*pieces, one ? "1 changes no result; leave maxout out"
                            : text(kMend, pieces->is_scalar() ? printable(pieces->value, 20) : "N",
                                   "}, before or after this one"));
}

}  // namespace

void check_oldest_keys(Setting& root, Problems& problems) {
  Setting* layers = root.find("layers");
  if (!layers) return;
  each_object(*layers, [&](std::string_view name, const Setting& params) {
    if (name == "Conv" || name == "ConvLayer" || name == "Convolution") check_convolution(params, problems);
    if (name == "Pooling" || name == "PoolingLayer") check_pooling(params, problems);
  });
}

void convert_older_keys(Setting& root, const std::string& notation, Conversion& conversion,
                        std::vector<std::string>& notes) {
  if (Setting* layers = root.find("layers")) {
    if (notation == "1.0") spell_out_batch_norm(*layers);
    each_object(*layers, [&](std::string_view name, Setting& params) {
      leave_out_none(params);
      if (notation == "1.0") leave_out_idle_bias(params, notes);
      if (notation == "1.0") keep_batch_norm(name, params, notes);
      leave_out(name, params, notes);
    });
    keep_matrix_fans(*layers, notes);
    keep_sum_over_steps(root, notes);
    tell_of_variance(*layers, notes);
    tell_of_activations(*layers, root.find("cost"), notes);
    leave_out_names(*layers, true, true, notes);
  }
  for (const char* key : {"cost", "optimizer"})
    if (Setting* const setting = root.find(key)) leave_out_names(*setting, false, false, notes);
  if (Setting* optimizer = root.find("optimizer"))
    each_object(*optimizer, [&](std::string_view name, Setting& params) {
      leave_out_none(params);
      take_rounding(params, conversion, notes);
      if (name == "MultiOptimizer") convert_mapping(params, root, notes);
      if (name == "PolySchedule")
        notes.push_back(text(params.where,
                             ": PolySchedule lets the rate fall in each epoch; neon 1.x kept it until "
                             "total_epochs, by a division that rounded"));
      if (name == "RMSProp" || name == "Adagrad") convert_clipping(params, notes);
      if (name == "RMSProp" || name == "Adagrad" || name == "Adam") keep_clipped_step(params, notes);
    });
}

}  // namespace neon
