#include "neon/report/net_nodes.h"

#include <algorithm>
#include <array>

#include "models/coded_columns.h"
#include "models/several_texts.h"
#include "neon/train/experiment.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

// "3x3" of [3, 3], and of 3 where there are two axes; "" where the setting is absent.
std::string extent(const Setting* setting, size_t axes) {
  if (!setting || setting->is_null()) return "";
  std::vector<std::string> sides;
  if (setting->is_list())
    for (const Setting& side : setting->items) sides.push_back(side.to_string());
  else if (setting->is_map())
    for (const auto& entry : setting->entries) sides.push_back(entry.value.to_string());
  else sides.assign(setting->value == "all" ? 1 : axes, setting->value);
  return join(sides, "x");
}

bool is_one(const std::string& extent) { return extent.find_first_not_of("1x") == extent.npos; }

// The name of a class, as in `activation: {Rectlin: {slope: 0}}`; "" where none is made.
std::string made_name(const Setting* setting) {
  if (!setting || setting->is_null()) return "";
  if (setting->is_map()) return setting->entries.empty() ? "" : setting->entries[0].key;
  return setting->is_scalar() ? setting->value : "";
}

// A parameter that says much about its layer, and the words around its value.
struct Telling {
  const char *key, *before, *after;
};
constexpr auto kTelling = std::to_array<Telling>({{"nofm", "", " maps"},
                                                  {"heads", "", " heads"},
                                                  {"keep", "keep ", ""},
                                                  {"op", "", ""},
                                                  {"pieces", "", " pieces"},
                                                  {"groups", "", " groups"},
                                                  {"factor", "times ", ""},
                                                  {"causal", "causal", ""},
                                                  {"bidirectional", "both directions", ""}});

// "3x3, 64 maps, stride 2, batch norm, Rectlin"
std::string parameters_text(const Setting& params, const Shape& output) {
  std::vector<std::string> parts;
  const auto axes = size_t(std::max<int64_t>(output.rank() - 1, 1));  // of space or time
  if (const std::string size = extent(params.find("fshape"), axes); !size.empty()) parts.push_back(size);
  for (const auto& [key, before, after] : kTelling) {
    const Setting* const value = params.find(key);
    if (!value || !value->is_scalar() || value->value.empty() || value->value == "false") continue;
    if (std::string_view(key) == "groups" && value->value == "1") continue;
    parts.push_back(value->value == "true" ? before : text(before, value->value, after));
  }
  if (const std::string strides = extent(params.find("strides"), axes); !strides.empty() && !is_one(strides))
    parts.push_back("stride " + strides);
  if (const Setting* norm = params.find("batch_norm");
      norm && (norm->is_map() || (norm->is_scalar() && norm->value == "true")))
    parts.push_back("batch norm");
  for (const char* key : {"activation", "transform"})
    if (const std::string activation = made_name(params.find(key)); !activation.empty() && activation != "Identity")
      parts.push_back(activation);
  return join(parts, ", ");
}

// A number with a space between thousands: "1 234 567".
std::string grouped(int64_t number) {
  std::string out = std::to_string(number);
  for (size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, " ");
  return out;
}

// Whether neon gave the name, Class_N, which says no more than the class.
bool is_usual_name(const LayerRow& row) {
  const size_t end = row.name.rfind('_');
  return end != row.name.npos && row.name.find_first_not_of("0123456789", end + 1) == row.name.npos &&
         row.name.compare(0, end, row.kind) == 0;
}

NetNode node_of(const LayerRow& row) {
  NetNode out;
  out.title = row.kind;
  if (!is_usual_name(row) && row.name != row.kind) out.name = row.name;
  if (const std::string said = parameters_text(row.params, row.output); !said.empty()) out.notes.push_back(said);
  out.notes.push_back(row.output.to_string());
  if (row.parameters > 0)
    out.notes.push_back(text(grouped(row.parameters), row.parameters == 1 ? " parameter" : " parameters",
                             row.frozen == 0                ? ""
                             : row.frozen == row.parameters ? ", frozen"
                                                            : ", frozen in part"));
  out.look = row.inputs.size() > 1 ? NetLook::join : row.parameters > 0 ? NetLook::learned : NetLook::plain;
  return out;
}

// Boxes of rows, each after those whose outputs it takes. Layers that pass their input on have none, and neither have
// containers of one branch: lines go to what stands before them.
class NodeMaker {
 public:
  explicit NodeMaker(const DescribedNet& net) : rows_(net.rows), places_(net.rows.size(), kNone) {
    out_.push_back({"samples", "", {net.sample.to_string()}, {}, NetLook::data});
  }
  std::vector<NetNode> nodes() {
    for (size_t row = 0; row < rows_.size(); ++row) place_of(int(row));
    return std::move(out_);
  }

 private:
  static constexpr int kNone = -1;

  int place_of(int row) {
    if (row < 0) return row == -1 ? 0 : noise();
    int& place = places_[size_t(row)];
    if (place != kNone) return place;
    const LayerRow& of = rows_[size_t(row)];
    std::vector<int> inputs;
    for (const int input : of.inputs)
      if (const int from = place_of(input); std::ranges::find(inputs, from) == inputs.end()) inputs.push_back(from);
    const bool passes = of.kind == "SkipNode" || of.kind == "BranchNode" || of.container;
    if (passes && inputs.size() == 1) return place = inputs[0];
    out_.push_back(node_of(of));
    out_.back().inputs = std::move(inputs);
    return place = int(out_.size()) - 1;
  }

  int noise() {
    if (noise_ == kNone) noise_ = int(out_.size()), out_.push_back({"noise", "", {}, {}, NetLook::data});
    return noise_;
  }

  const std::vector<LayerRow>& rows_;
  std::vector<int> places_;  // the box of each row
  int noise_ = kNone;
  std::vector<NetNode> out_;
};

}  // namespace

DescribedNet describe_net(const TrainedPhase& phase, const DataLayout& data, const StepOptions& step) {
  DescribedNet out;
  Graph scratch;
  LayerContext context(scratch, true, step.dtype, 0);
  context.caffe = step.caffe;
  context.freeze = phase.options(step).freeze;
  DataLayout seen = phase.layout(data);
  out.sample = seen.sample = input_sample(data, step);
  seen.channels_last = context.data_channels_last = data.channels_last || !step.augment.empty();
  context.data_axes = seen.batch_axes();
  context.tokens = seen.tokens;
  say_texts(context, seen);
  say_columns(context, seen);
  context.classes = seen.classes;
  if (seen.label_of == LabelOf::step && seen.target.rank() == 1)
    context.target_labels = scratch.input("targets", DType::i32, {step.batch, seen.target[0]});
  if (seen.label_of == LabelOf::box)
    context.target_boxes = scratch.input("targets", DType::f32, Shape{step.batch}.concat(seen.target));
  const DType dtype = seen.tokens > 0 ? DType::i32 : step.dtype;
  const Expr x(scratch, scratch.input("x", dtype, Shape{step.batch}.concat(seen.stored_sample())));
  phase.network->forward(context, x, &out.rows);
  out.parameters = context.parameters;
  return out;
}

std::vector<NetNode> net_nodes(const DescribedNet& net) { return NodeMaker(net).nodes(); }

std::string net_summary(const DescribedNet& net) {
  int64_t layers = 0, parameters = 0;
  double flops = 0;
  for (const LayerRow& row : net.rows) {
    layers += !row.container;
    parameters += row.parameters;
    flops += row.flops;
  }
  return text(layers, layers == 1 ? " layer, " : " layers, ", grouped(parameters), " parameters, ",
              formatted("%.4g", flops), " flops a sample forward; input ", net.sample);
}

}  // namespace neon
