#include "neon/train/class_balance.h"

#include <algorithm>
#include <cmath>

#include "neon/core/counted.h"
#include "neon/core/key_error.h"
#include "neon/core/message.h"

namespace neon {

namespace {

constexpr int64_t kUneven = 5;       // the largest class over the smallest
constexpr double kMostWeight = 1e6;  // of a class

double weight_from(const Setting& from, Problems& problems) {
  double weight = 1;
  Value_of<double>::read(from, weight, closed(0, kMostWeight), problems);
  return weight;
}

std::string name_of_class(const std::vector<std::string>& names, size_t number) {
  return number < names.size() ? in_quotes(names[number]) : text("class ", number);
}

template <typename... Parts>
[[noreturn]] void refuse(const WeighedClasses& of, const Parts&... parts) {
  fail_about(of.key, of.prefix, parts...);
}

std::vector<double> balanced_weights(const std::vector<double>& counts) {
  double all = 0, present = 0;
  for (const double count : counts) all += count, present += count > 0;
  std::vector<double> out;
  for (const double count : counts) out.push_back(count > 0 ? all / (present * count) : 0);
  return out;
}

WeighedClasses classes_of(const Data& data) {
  WeighedClasses out;
  out.names = data.class_names;
  out.classes = data.classes, out.padding = data.padding_classes;
  if (data.train.label_count() == 0) return out;
  out.counts.assign(size_t(data.classes), 0.0);
  for (int64_t i = 0; i < data.train.label_count(); ++i)
    if (const int32_t label = data.train.label(i); label >= 0) ++out.counts[size_t(label)];
  return out;
}

std::vector<double> weights_by_name(const ClassWeights& weights, const WeighedClasses& of) {
  std::vector<std::string> known = of.names;
  const int64_t classes = of.classes - of.padding;
  known.resize(std::min(known.size(), size_t(classes)));
  for (int64_t c = int64_t(known.size()); c < classes; ++c) known.push_back(text(c));
  std::vector<double> out(size_t(of.classes), 1.0);
  for (const auto& [name, weight] : weights.named) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end())
      refuse(of, "no class is named ", in_quotes(name), did_you_mean(name, known), " (known: ", list_text(known), ")");
    out[size_t(found - known.begin())] = weight;
  }
  return out;
}

}  // namespace

void Value_of<ClassWeights>::read(const Setting& from, ClassWeights& out, const Constraint&, Problems& problems) {
  out = {};
  if (from.is_scalar() && from.value == "balanced") {
    out.balanced = true;
  } else if (from.is_list()) {
    for (const Setting& item : from.items) out.numbers.push_back(weight_from(item, problems));
  } else if (from.is_map()) {
    for (const auto& entry : from.entries) out.named.emplace_back(entry.key, weight_from(entry.value, problems));
  } else if (!from.is_null()) {
    detail::wrong_type(from, "balanced, [number, ...] or {class: number}", problems);
  }
}

Setting Value_of<ClassWeights>::write(const ClassWeights& value) {
  if (value.balanced) return Setting::scalar("balanced");
  if (!value.named.empty()) {
    std::vector<Setting::Entry> entries;
    for (const auto& [name, weight] : value.named) entries.push_back({name, Value_of<double>::write(weight)});
    return Setting::map(std::move(entries));
  }
  return Value_of<std::vector<double>>::write(value.numbers);
}

namespace {

// Refuses what is meant for the classes of one target, of a set that has several.
void check_several(const ClassWeights& weights, bool draws_by_class, const std::vector<NamedTarget>& targets) {
  std::vector<std::string> of_classes;
  for (const NamedTarget& target : targets)
    if (target.kind == TargetKind::classes) of_classes.push_back(in_quotes(target.name));
  if (weights.is_given())
    fail_about("class_weights", "is for one target, and the data set has ", targets.size(), ": ", text_of(targets),
               "; give class_weights to an output, as in outputs: {",
               targets[first_of_classes(targets) % targets.size()].name,
               ": {cost: CrossEntropyMulti, class_weights: balanced}}");
  if (draws_by_class && of_classes.size() != 1)
    fail_about("sampling", "balanced draws samples by the classes of one target, and ",
               of_classes.empty() ? text("none of the targets has one class for each sample: ", text_of(targets))
                                  : text(of_classes.size(), " targets have classes: ", list_text(of_classes)),
               "; leave it out", of_classes.empty() ? "" : ", and give the outputs class_weights: balanced");
}

}  // namespace

void check_balance(const ClassWeights& weights, bool draws_by_class, const DataLayout& data) {
  if (!data.targets.empty()) return check_several(weights, draws_by_class, data.targets);
  const bool alone = data.label_of != LabelOf::sequence && data.label_of != LabelOf::box;
  if (weights.is_given() && (data.classes == 0 || !alone))
    fail_about("class_weights", "is for classes, and the data set has ",
               data.classes == 0               ? "none"
               : data.label_of == LabelOf::box ? "boxes of objects"
                                               : "sequences of labels",
               "; leave it out");
  if (draws_by_class && (data.classes == 0 || data.label_of != LabelOf::sample))
    fail_about("sampling", "balanced draws samples by their class, and the data set has ",
               data.classes == 0 ? text("no classes") : text("a class for each ", name_of(data.label_of)),
               "; leave it out");
}

namespace {

std::vector<double> asked_weights(const ClassWeights& weights, const WeighedClasses& of) {
  if (weights.balanced && of.counts.empty())
    refuse(of, "balanced counts the labels, which a streamed set of tokens does not have; give numbers");
  if (weights.balanced) return balanced_weights(of.counts);
  if (!weights.named.empty()) return weights_by_name(weights, of);
  const int64_t classes = of.classes - of.padding;
  if (int64_t(weights.numbers.size()) != classes)
    refuse(of, "has ", counted(int64_t(weights.numbers.size()), "number"), ", the data set has ", classes,
           " classes: one for each", of.padding > 0 ? text("; those of padding, ", of.padding, ", take none") : "");
  std::vector<double> out = weights.numbers;
  out.resize(size_t(of.classes), 0.0);
  return out;
}

}  // namespace

std::vector<double> weights_of_classes(const ClassWeights& weights, const WeighedClasses& of) {
  std::vector<double> out = asked_weights(weights, of);
  if (std::ranges::none_of(out, [](double weight) { return weight > 0; }))
    refuse(of, "are all 0, so nothing would be learnt");
  return out;
}

std::vector<double> weights_of_classes(const ClassWeights& weights, const Data& data) {
  return weights_of_classes(weights, classes_of(data));
}

void check_class_weights(const ClassWeights& weights, const DataCheck& check) {
  const std::vector<std::string>& names = check.class_names;
  if (!weights.is_given() || weights.balanced || names.empty()) return;
  int64_t classes = check.classes;
  while (classes > 0 && size_t(classes) <= names.size() && names[size_t(classes - 1)] == text("padding ", classes - 1))
    --classes;
  weights_of_classes(weights,
                     {.names = names, .classes = check.classes, .padding = check.classes - classes, .counts = {}});
}

void set_class_weights(const ClassWeights& weights, const Data& data, Variables& variables) {
  if (!variables.has(kClassWeights)) return;
  const std::vector<double> each = weights_of_classes(weights, data);
  for (size_t c = 0; c < each.size(); ++c) variables.at(kClassWeights).set(int64_t(c), each[c]);
}

std::vector<double> factors_of_classes(const ClassWeights& weights, bool draws_by_class, const Data& data) {
  std::vector<double> out(size_t(data.classes), 1.0);
  if (weights.is_given()) out = weights_of_classes(weights, data);
  if (!draws_by_class) return out;
  const std::vector<double> drawn = balanced_weights(classes_of(data).counts);
  for (size_t c = 0; c < drawn.size(); ++c) out[c] *= drawn[c];
  return out;
}

std::string imbalance_text(const std::vector<int64_t>& counts, const std::vector<std::string>& names,
                           const std::string& things) {
  if (counts.size() < 2) return "";
  const auto [least, most] = std::ranges::minmax_element(counts);
  if (*least == 0 || *most <= kUneven * *least) return "";
  const auto of = [&](auto at) { return name_of_class(names, size_t(at - counts.begin())); };
  return text(of(most), " has ", *most, " training ", things, ", ", of(least), " ", *least, ": ",
              std::lround(double(*most) / double(*least)), " times as many");
}

}  // namespace neon
