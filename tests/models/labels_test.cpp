// Sequences of labels as targets: the labels that a net predicts, its cost and metrics beside padding, and what is
// refused.
#include <catch2/catch.hpp>

#include "models/predicted_labels.h"
#include "tests/support/golden.h"
#include "tests/support/net.h"

using namespace neon;
using namespace neon_test;
using Catch::Contains;

namespace {

// Scores (1,T,5) whose highest is that of each class.
std::string predicted_from(const std::vector<int>& classes, int64_t blank, int64_t length = -1) {
  const auto steps = int64_t(classes.size());
  Graph graph;
  LayerContext context(graph, false, DType::f32, 0);
  const Expr y(graph, graph.input("y", DType::f32, {1, steps, 5}));
  context.mark_sequence(y);
  if (length >= 0) context.set_lengths(y, graph.input("lengths", DType::i32, {1}));
  graph.output("predicted", predicted_labels(context, y, blank));
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {});
  Tensor scores(DType::f32, {1, steps, 5});
  for (int64_t t = 0; t < steps; ++t) scores.set(t * 5 + classes[size_t(t)], 1);
  const auto count = int32_t(length);
  program->bind("y", scores.data());
  if (length >= 0) program->bind("lengths", &count);
  program->run(0);
  std::string out;
  for (int64_t t = 0; t < steps; ++t) out += text(t ? " " : "", int64_t(program->output("predicted").at(t)));
  return out;
}

// Four samples of lengths 7, 2, 5 and 4, of labels of their own lengths, in an array of so many steps and labels.
struct LabelledSamples {
  LabelledSamples(int64_t steps, int64_t most) {
    constexpr int64_t kLengths[] = {7, 2, 5, 4}, kCounts[] = {3, 1, 2, 0};
    data.inputs = Tensor(DType::f32, {4, steps, 2});
    data.targets = Tensor(DType::i32, {4, most});
    data.classes = 4;
    for (int64_t i = 0; i < 4; ++i) {
      Stream stream(3, "labelled", uint64_t(i));
      for (int64_t k = 0; k < 2 * steps; ++k)
        data.inputs.set(i * 2 * steps + k, k < 2 * kLengths[i] ? double(stream.below(64)) / 16 - 2 : std::nan(""));
      for (int64_t k = 0; k < most; ++k)
        data.targets.set(i * most + k, k < kCounts[i] ? 1 + double(stream.below(3)) : -1);
    }
    layout = data.layout();
    layout.sequence = layout.ragged = true;
    layout.label_of = LabelOf::sequence;
  }
  NetData data;
  DataLayout layout;
};

std::map<std::string, double> measured(int64_t steps, int64_t most, DType dtype) {
  const LabelledSamples samples(steps, most);
  const Network network = network_of(yaml_of(
      "[{Conv: {fshape: 3, nofm: 4, causal: true, init: {Uniform: {low: -1, high: 1}}}}, {LSTM: {output_size: 4, init: "
      "{Uniform: {low: -1, high: 1}}}}, {Affine: {nout: classes, init: {Uniform: {low: -1, high: 1}}}}]"));
  const auto cost = Registry<Cost>::get().create(yaml_of("CTC"));
  const auto distance = Registry<Metric>::get().create(yaml_of("EditDistance"));
  const StepOptions options{.dtype = dtype, .batch = 4, .blank = 0};
  const StepGraph graph = evaluation_graph(network, cost.get(), {distance.get()}, samples.layout, 4, options);
  Variables variables;
  const auto program = compile_for_cpu(graph.graph, variables, {.threads = 1});
  for (const auto& [name, tensor] : variables.all()) {
    Stream stream(11, name);
    for (int64_t i = 0; i < tensor.elements(); ++i) variables.at(name).set(i, double(stream.below(64)) / 32 - 1);
  }
  const std::vector<int32_t> indices = {2, 0, 3, 1};
  Tensor weight(dtype == DType::f64 ? DType::f64 : DType::f32, {4, 1});
  for (int64_t i = 0; i < 4; ++i) weight.set(i, 1);
  program->bind("data", samples.data.inputs.data());
  program->bind("targets", samples.data.targets.data());
  program->bind("indices", indices.data());
  program->bind("weight", weight.data());
  program->run(0);
  std::map<std::string, double> out;
  for (const char* name : {"cost", "metric/0/0", "metric/0/1"}) out[name] = program->output(name).at(0);
  return out;
}

// The edit distance, by the definition.
int64_t distance_between(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return int64_t(a.size() + b.size());
  const std::string c = a.substr(1), d = b.substr(1);
  return std::min({distance_between(c, b) + 1, distance_between(a, d) + 1, distance_between(c, d) + (a[0] != b[0])});
}

// The message against a cost, metrics and the layers' end for targets that are labels of that.
std::string label_refusal(LabelOf of, const std::string& cost, const std::string& metric,
                          const std::string& nout = "4") {
  LabelledSamples samples(7, 7);
  samples.layout.label_of = of;
  if (of == LabelOf::sample) samples.layout.target = {1};
  const Network network =
      network_of(yaml_of("[" + std::string(of == LabelOf::sample ? "RecurrentLast, " : "") + "{Affine: {nout: " + nout +
                         ", init: Kaiming" + (cost == "CTC" ? "" : ", activation: Softmax") + "}}]"));
  const auto by = Registry<Cost>::get().create(yaml_of(cost));
  const auto metrics = Registry<Metric>::get().create(yaml_of(metric));
  try {
    evaluation_graph(network, by.get(), {metrics.get()}, samples.layout, 4, {.batch = 4, .blank = by->blank()});
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a net predicts the likeliest class of each step; with a blank, neither blanks nor repeats") {
  CHECK(predicted_from({1, 1, 0, 1, 2, 2}, -1) == "1 1 0 1 2 2");
  CHECK(predicted_from({1, 1, 0, 1, 2, 2}, 0) == "1 -1 -1 1 2 -1");
  CHECK(predicted_from({0, 0, 3, 3, 0, 3}, 0) == "-1 -1 3 -1 -1 3");
  CHECK(predicted_from({4, 4, 0, 4}, 4) == "-1 -1 0 -1");
  CHECK(predicted_from({2}, 0) == "2");
  CHECK(predicted_from({1, 2, 3, 3}, 0, 2) == "1 2 -1 -1");
  CHECK(predicted_from({1, 1, 3}, -1, 0) == "-1 -1 -1");
}

TEST_CASE("padding of samples and of labels changes no bit of CTC and of distances") {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    INFO(name_of(dtype));
    const auto little = measured(7, 3, dtype);
    CHECK(std::isfinite(little.at("cost")));
    CHECK(little.at("metric/0/1") == 6);
    CHECK(measured(16, 3, dtype) == little);
    CHECK(measured(11, 9, dtype) == little);
  }
}

TEST_CASE("labels of steps are compared where there are some, up to the class that ends them") {
  for (const int64_t end : {-1, 2}) {
    INFO("end " << end);
    LabelledSamples samples(7, 7);
    samples.layout.label_of = LabelOf::step;
    samples.layout.ragged = false;
    samples.layout.end_class = end;
    for (int64_t i = 0; i < samples.data.inputs.elements(); ++i)
      if (std::isnan(samples.data.inputs.at(i))) samples.data.inputs.set(i, 0.25);
    const Network network =
        network_of(yaml_of("[{Affine: {nout: classes, init: {Uniform: {low: -1, high: 1}}, activation: Softmax}}]"));
    const auto distance = Registry<Metric>::get().create(yaml_of("EditDistance"));
    const auto cost = Registry<Cost>::get().create(yaml_of("CrossEntropyMulti"));
    const StepGraph graph =
        evaluation_graph(network, cost.get(), {distance.get()}, samples.layout, 4, {.dtype = DType::f64, .batch = 4});
    Variables variables;
    const auto program = compile_for_cpu(graph.graph, variables, {.threads = 1});
    // The first number of a step decides between classes 1 and 2.
    Tensor& w = variables.at("Affine_0/W");
    for (int64_t i = 0; i < w.elements(); ++i) w.set(i, i == 2 ? 1 : i == 4 ? -1 : 0);
    const std::vector<int32_t> indices = {0, 1, 2, 3};
    const std::vector<double> weight(4, 1);
    program->bind("data", samples.data.inputs.data());
    program->bind("targets", samples.data.targets.data());
    program->bind("indices", indices.data());
    program->bind("weight", weight.data());
    program->run(0);
    double wrong = 0, all = 0;
    for (int64_t i = 0; i < 4; ++i) {
      std::string predicted, labels;
      bool predicts = true, counts = true;
      for (int64_t t = 0; t < 7; ++t) {
        const double x = samples.data.inputs.at((i * 7 + t) * 2);
        const auto label = int64_t(samples.data.targets.at(i * 7 + t));
        const int64_t likeliest = x > 0 ? 1 : x < 0 ? 2 : 0;
        predicts = predicts && likeliest != end, counts = counts && label != end && label >= 0;
        if (counts) labels += char('0' + label);
        if (predicts && counts) predicted += char('0' + likeliest);
      }
      wrong += double(distance_between(predicted, labels)), all += double(labels.size());
    }
    CHECK(program->output("metric/0/0").at(0) == wrong);
    CHECK(program->output("metric/0/1").at(0) == all);
  }
}

TEST_CASE("costs, metrics and nets that do not suit sequences of labels are refused in one line") {
  CHECK(label_refusal(LabelOf::sequence, "CTC", "EditDistance") == "");
  CHECK(label_refusal(LabelOf::step, "CrossEntropyMulti", "EditDistance") == "");
  CHECK_THAT(label_refusal(LabelOf::sequence, "CrossEntropyMulti", "EditDistance"),
             Contains("the targets are sequences of labels of their own lengths; cost: CTC is for these"));
  CHECK_THAT(label_refusal(LabelOf::step, "CTC", "EditDistance"),
             Contains("CTC compares the steps of a sequence with a sequence of labels of its own length, and the data "
                      "set has a class for each step"));
  CHECK_THAT(label_refusal(LabelOf::sequence, "CTC", "Accuracy"),
             Contains("EditDistance and ExactMatch compare these"));
  CHECK_THAT(label_refusal(LabelOf::sample, "CrossEntropyMulti", "BLEU"),
             Contains("a metric compares sequences of labels, but the data set has a class for each sample"));
  CHECK_THAT(label_refusal(LabelOf::sequence, "CTC", "EditDistance", "3"),
             Contains("the last layer gives (7, 3), but the targets are sequences of labels of 4 classes, the blank "
                      "included: end with a score of each class for each step, as Affine: {nout: 4}"));
}
