// Every metric against a plain loop over the samples, in two batches of which the second is short.
#include <catch2/catch.hpp>

#include "neon/core/random.h"
#include "tests/support/golden.h"
#include "transforms/metric.h"

using namespace neon;
using namespace neon_test;

namespace {

// One batch of an array (batches, N, K).
Tensor part(const Tensor& all, int64_t batch) {
  return all.rows(batch, 1).reshaped({all.shape()[1], all.shape()[2]}).clone();
}

// The sums of a metric, and the arrays that its graph takes.
struct MetricCase {
  std::vector<Expr> sums;
  std::map<std::string, Tensor> arrays;
};

MetricCase metric_case(const Setting& one, const Metric& metric, Graph& graph, DType dtype) {
  MetricCase out;
  const auto input = [&](const char* name, DType type) {
    const Tensor& all = out.arrays[name] = tensor_of(at(one, name), type);
    return Expr(graph, graph.input(name, type, {all.shape()[1], all.shape()[2]}));
  };
  const Expr weight = input("weight", dtype);
  if (one.find("predicted"))
    out.sums = metric.sums_of_sequences(input("predicted", DType::i32), input("labels", DType::i32), weight);
  else out.sums = metric.sums(input("y", dtype), input("t", dtype), weight);
  return out;
}

void check_metric(const Setting& one, const Arithmetic& arithmetic) {
  const auto metric = Registry<Metric>::get().create(object_of(at(one, "metric")));
  Graph graph;
  const auto [parts, arrays] = metric_case(one, *metric, graph, arithmetic.dtype);
  for (size_t i = 0; i < parts.size(); ++i) graph.output(std::to_string(i), parts[i]);
  Variables variables;
  const auto program = compiled(graph, variables, arithmetic);
  std::vector<std::vector<double>> sums(parts.size());
  double samples = 0;
  for (int64_t batch = 0; batch < arrays.at("weight").shape()[0]; ++batch) {
    std::map<std::string, Tensor> given;
    for (const auto& [name, all] : arrays) program->bind(name, (given[name] = part(all, batch)).data());
    program->run(uint64_t(batch) + 1);
    for (size_t i = 0; i < parts.size(); ++i) {
      const Tensor out = program->output(std::to_string(i));
      const size_t first = metric->keeps_samples() ? sums[i].size() : 0;
      sums[i].resize(first + size_t(out.elements()));
      for (int64_t k = 0; k < out.elements(); ++k) sums[i][first + size_t(k)] += out.at(k);
    }
    for (int64_t k = 0; k < given.at("weight").elements(); ++k) samples += given.at("weight").at(k);
  }
  const std::vector<double> got = metric->finish(sums, samples), want = numbers(at(one, "results"));
  REQUIRE(got.size() == want.size());
  CHECK(metric->results().size() == want.size());
  for (size_t i = 0; i < want.size(); ++i)
    check_close(got[i], want[i], 64 * unit_roundoff(arithmetic.dtype) * std::max(1.0, std::abs(want[i])));
}

}  // namespace

TEST_CASE("sets without a label have no wrong one") {
  for (const char* name : {"EditDistance", "ExactMatch", "BLEU"}) {
    INFO(name);
    const auto metric = Registry<Metric>::get().create(yaml_of(name));
    CHECK(metric->finish(std::vector<std::vector<double>>(10, {0.0}), 0) == std::vector<double>{0});
  }
}

TEST_CASE("metrics over a set are those of the golden file", "[device]") {
  const Setting cases = golden("transforms/golden/metrics.json");
  for (const Arithmetic& arithmetic : arithmetics())
    for (const Setting& one : cases.items) {
      INFO(at(one, "metric").to_string() << ", " << arithmetic.name);
      check_metric(one, arithmetic);
    }
}

TEST_CASE("every metric has a golden case, and reads back as written") {
  const Setting cases = golden("transforms/golden/metrics.json");
  CHECK(uncovered("metric", cases, "metric", {"MeanAveragePrecision"}) ==
        std::vector<std::string>{});  // boxes_test.cpp
  for (const Setting& one : cases.items) {
    const auto [first, second] = round_trip<Metric>(object_of(at(one, "metric")));
    CHECK(first == second);
  }
}

TEST_CASE("metrics are named as neon named them, and say what is a share and what should rise") {
  const auto results = [](const char* yaml) {
    std::vector<std::string> out;
    for (const Metric::Result& one : Registry<Metric>::get().create(yaml_of(yaml))->results())
      out.push_back(one.name + (one.share ? " %" : "") + (one.better == Metric::Better::higher ? " rises" : ""));
    return join(out, ", ");
  };
  CHECK(results("Misclassification") == "Top1Misclass %");
  CHECK(results("Accuracy") == "Accuracy % rises");
  CHECK(results("TopKMisclassification: {k: 3}") == "LogLoss, Top1Misclass %, Top3Misclass %");
  CHECK(results("PrecisionRecall") == "Precision % rises, Recall % rises");
  CHECK(results("MeanIoU") == "MeanIoU % rises");
  CHECK(results("LogLoss") == "LogLoss");
  CHECK(results("MSE") == "MSE");
  CHECK(results("AUC: {pos_label: 2}") == "AUC_POS_2 % rises");
  CHECK(results("AUC") == "AUC_POS_1 % rises");
  CHECK(results("AUC: {average: macro}") == "AUC_MACRO % rises");
  CHECK(results("MisclassSum: {error_rank: 3}") == "MisclassSum_TOP_3");
  CHECK(results("MultiLabelStats: {labels: [cat]}") == "Precision_cat % rises, Recall_cat % rises");
  CHECK(results("SSE") == "SSE");
  CHECK(results("MAE") == "MAE");
  CHECK(results("RMSE") == "RMSE");
  CHECK(results("R2") == "R2 rises");
  CHECK(results("MultiMetric: {metric: Accuracy, index: 0}") == "Accuracy_0 % rises");
  CHECK(results("MultiMetric: {metric: Misclassification, index: 1}") == "Top1Misclass_1 %");
}

TEST_CASE("a metric that does not suit the net or the data says why") {
  const auto objection = [](const char* yaml, int64_t outputs, int64_t classes) {
    return Registry<Metric>::get().create(yaml_of(yaml))->objection(outputs, classes);
  };
  CHECK(objection("Accuracy", 3, 3) == "");
  CHECK(objection("Accuracy", 3, 0) == "needs classes, the data set has none");
  CHECK(objection("TopK: {k: 5}", 3, 3) == "k is 5, but there are only 3 outputs");
  CHECK(objection("PrecisionRecall: {num_classes: 4}", 3, 3) == "num_classes is 4, but there are 3 outputs");
  CHECK(objection("MSE", 3, 0) == "");
  CHECK(objection("AUC: {pos_label: 3}", 3, 3) == "pos_label is 3, but there are only 3 outputs, counted from 0");
  CHECK(objection("AUC", 1, 0) == "");
  CHECK(objection("AUC", 2, 2) == "");
  CHECK(objection("AUC", 3, 3) ==
        "there are 3 outputs; write AUC: {average: macro} for the mean over all classes, each against the others, or "
        "name one class by pos_label: 0 to 2");
  CHECK(objection("AUC: {average: macro}", 3, 3) == "");
  const auto of_labels = [](const char* yaml) {
    const OutputForm two{2, "", TargetKind::labels, 2, {"a", "b"}};
    return Registry<Metric>::get().create(yaml_of(yaml))->objection({two}, 0);
  };
  CHECK(of_labels("AUC") ==
        "the outputs are labels; write AUC: {average: macro} for the mean over them, or name one by pos_label: 0 to 1");
  CHECK(of_labels("AUC: {pos_label: 1}") == "");
  CHECK(of_labels("AUC: {average: macro}") == "");
  CHECK(of_labels("AUC: {pos_label: 2}") == "pos_label is 2, but there are only 2 outputs, counted from 0");
  CHECK(objection("AUC: {pos_label: 0}", 3, 3) == "");
  CHECK_THROWS_WITH(objection("AUC: {average: macro, pos_label: 1}", 3, 3),
                    Catch::Contains("pos_label names one; leave one of both out"));
  CHECK(objection("MisclassSum: {k: 4}", 3, 3) == "k is 4, but there are only 3 outputs");
  CHECK(objection("MultiLabelStats", 3, 0) == "labels is to name the 3 outputs, in order; the data set names none");
  CHECK(objection("MultiLabelStats: {labels: [a, b]}", 3, 0) == "names 2 labels, and the net has 3 outputs");
}

TEST_CASE("the mean AUC over classes is the mean over those that have samples, each against the others") {
  const auto auc = Registry<Metric>::get().create(yaml_of("AUC: {average: macro}"));
  // Classes 0, 1, 2, 1, 0; the last row only fills up the batch.
  const std::vector<double> y = {0.5, 0.3, 0.2, 0.2, 0.5, 0.3, 0.3, 0.3, 0.4, 0.6, 0.3, 0.1, 0.4, 0.2, 0.4, 9, 9, 9},
                            t = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 0, 0}, weight = {1, 1, 1, 1, 1, 0};
  const auto pairs = [&](size_t k) {  // the share of pairs, by their definition
    double right = 0, all = 0;
    for (size_t a = 0; a < 5; ++a)
      for (size_t b = 0; b < 5; ++b)
        if (t[3 * a + k] == 1 && t[3 * b + k] == 0)
          ++all, right += y[3 * a + k] > y[3 * b + k] ? 1 : y[3 * a + k] == y[3 * b + k] ? 0.5 : 0;
    return right / all;
  };
  CHECK(auc->finish({y, t, weight}, 5)[0] == Approx((pairs(0) + pairs(1) + pairs(2)) / 3));
  CHECK(auc->finish({y, t, weight}, 5)[0] == Approx((4.0 / 6 + 5.0 / 6 + 3.5 / 4) / 3));
  // A class without samples does not count; with one class alone there is no number.
  CHECK(auc->finish({{0.5, 0.4, 0.1, 0.2, 0.7, 0.1}, {1, 0, 0, 0, 1, 0}, {1, 1}}, 2)[0] == 1);
  CHECK(std::isnan(auc->finish({{0.5, 0.4, 0.1, 0.2, 0.7, 0.1}, {1, 0, 0, 1, 0, 0}, {1, 1}}, 2)[0]));
}

TEST_CASE("AUC of one output takes the larger of two numbers as the positive") {
  const auto auc = Registry<Metric>::get().create(yaml_of("AUC"));
  // Nine of ten are 1: standardised, 1 is (1 - 0.9) / 0.3, below a half.
  const std::vector<double> y = {0.3, 0.8, 0.2, 0.6, 0.5, 0.4, 0.9, 0.7, 0.1, 0.35}, t = {0, 1, 1, 1, 1, 1, 1, 1, 1, 1},
                            weight(10, 1.0);
  std::vector<double> scaled;
  for (const double one : t) scaled.push_back((one - 0.9) / 0.3);
  CHECK(auc->finish({y, t, weight}, 10)[0] == Approx(7.0 / 9));  // 0.1 and 0.2 are below 0.3
  CHECK(auc->finish({y, scaled, weight}, 10)[0] == Approx(7.0 / 9));
  CHECK(std::isnan(auc->finish({y, y, weight}, 10)[0]));  // values are no two kinds
}

TEST_CASE("R2 of targets that are alike is 1 without an error and 0 otherwise") {
  const auto r2 = Registry<Metric>::get().create(yaml_of("R2"));
  CHECK(r2->finish({{0}, {6}, {12}, {3}}, 3) == std::vector<double>{1});
  CHECK(r2->finish({{3}, {6}, {12}, {3}}, 3) == std::vector<double>{0});
  CHECK(r2->finish({{3, 0}, {6, 6}, {18, 12}, {3}}, 3) == std::vector<double>{0.75});
}

TEST_CASE("R2 sees the spread of targets far from 0, and none where all are alike") {
  constexpr int64_t kBatch = 50, kBatches = 20;
  for (const double mean : {0.0, 0.1, 1e4, 1e6})
    for (const double deviation : {0.0, 1.0}) {
      INFO(mean << " and " << deviation);
      const auto r2 = Registry<Metric>::get().create(yaml_of("R2"));
      Graph graph;
      const auto input = [&](const char* name) { return Expr(graph, graph.input(name, DType::f32, {kBatch, 1})); };
      const std::vector<Expr> sums = r2->sums(input("y"), input("t"), input("weight"));
      for (size_t j = 0; j < sums.size(); ++j) graph.output(text(j), sums[j]);
      Variables variables;
      const auto program = compile_for_cpu(graph, variables, {});
      std::vector<float> y, t, weight(size_t(kBatch), 1.0f);
      Stream stream(3, "R2");
      for (int64_t i = 0; i < kBatch * kBatches; ++i) {
        t.push_back(float(mean + deviation * (stream.uniform() - 0.5)));
        y.push_back(float(double(t.back()) + 0.25 * (stream.uniform() - 0.5)));
      }
      std::vector<std::vector<double>> all(sums.size(), {0});
      for (int64_t k = 0; k < kBatches; ++k) {
        program->bind("y", y.data() + k * kBatch);
        program->bind("t", t.data() + k * kBatch);
        program->bind("weight", weight.data());
        program->run(1);
        for (size_t j = 0; j < sums.size(); ++j) all[j][0] += program->output(text(j)).at(0);
      }
      double center = 0, squares = 0, spread = 0;
      for (const float each : t) center += double(each) / double(t.size());
      for (size_t i = 0; i < t.size(); ++i) {
        squares += std::pow(double(y[i]) - double(t[i]), 2);
        spread += std::pow(double(t[i]) - center, 2);
      }
      const double wanted = deviation > 0 ? 1 - squares / spread : squares > 0 ? 0 : 1;
      CHECK(r2->finish(all, double(t.size()))[0] == Approx(wanted).margin(1e-5 + 12 * 1.1e-16 * mean * mean));
    }
}

TEST_CASE("squares of runs from before stay in the units of standardised targets") {
  for (const auto& [name, before] : {std::pair{"MAE", true}, {"RMSE", true}, {"MSE", false}, {"SSE", false}}) {
    INFO(name);
    const auto metric = Registry<Metric>::get().create(yaml_of(name));
    CHECK(metric->in_own_units(8) == before);
    CHECK(metric->in_own_units(9));
  }
}

TEST_CASE("MultiMetric is in the units of its metric, and refuses metrics of the whole net") {
  for (const char* name : {"MAE", "RMSE", "MSE", "R2"})
    CHECK(
        Registry<Metric>::get().create(yaml_of(text("MultiMetric: {metric: ", name, ", index: 0}")))->in_own_units(9) ==
        (std::string(name) != "R2"));
  for (const char* name : {"EditDistance", "BLEU", "MeanAveragePrecision"})
    CHECK_THAT(complaint<Metric>(text("MultiMetric: {metric: ", name, ", index: 0}")),
               Catch::Contains("compares what the whole net predicts") && Catch::Contains("without MultiMetric"));
}

TEST_CASE("MultiMetric measures the output of its index, and says so in its names") {
  const auto metric = Registry<Metric>::get().create(yaml_of("MultiMetric: {metric: MSE, index: 1}"));
  REQUIRE(metric->results().size() == 1);
  CHECK(metric->results()[0].name == "MSE_1");
  CHECK(!metric->results()[0].share);
  CHECK(Registry<Metric>::get().create(yaml_of("MultiMetric: {metric: Accuracy, index: 0}"))->results()[0].share);
  Graph graph;
  const auto input = [&](const char* name, int64_t width) {
    return Expr(graph, graph.input(name, DType::f32, {2, width}));
  };
  const Expr first = input("first", 2), second = input("second", 2), t = input("t", 2), weight = input("weight", 1);
  graph.output("sum", metric->sums_of_all({first, second}, t, weight)[0]);
  CHECK_THROWS_WITH(metric->sums_of_all({first}, t, weight),
                    "metrics: MultiMetric's index is 1, and the net has 1 output, counted from 0");
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {});
  const float outputs[] = {1, 2, 3, 4}, others[] = {9, 9, 9, 9}, targets[] = {0, 0, 1, 1}, weights[] = {1, 1};
  program->bind("first", others);
  program->bind("second", outputs);
  program->bind("t", targets);
  program->bind("weight", weights);
  program->run(1);
  const double sum = program->output("sum").at(0);
  CHECK(metric->finish({{sum}}, 2) == std::vector<double>{(1 + 4 + 4 + 9) / 4.0});
  const OutputForm wide{5, ""}, narrow{2, ""};
  const auto top = Registry<Metric>::get().create(yaml_of("MultiMetric: {metric: {TopK: {k: 3}}, index: 1}"));
  CHECK(top->objection({narrow, wide}, 5) == "");
  CHECK(top->objection({wide, narrow}, 5) == "k is 3, but there are only 2 outputs");
  CHECK(top->objection({wide}, 5) == "MultiMetric's index is 1, and the net has 1 output, counted from 0");
}

TEST_CASE("a metric of outputs and targets of different shapes is an error that shows both") {
  for (const Setting& one : golden("transforms/golden/metrics.json").items) {
    Graph graph;
    Expr y(graph, graph.input("y", DType::f32, {3, 4})), t(graph, graph.input("t", DType::f32, {3, 1}));
    const auto metric = Registry<Metric>::get().create(object_of(at(one, "metric")));
    CHECK_THROWS_WITH(metric->sums(y, t, t), Catch::Contains("outputs (3, 4) with targets (3, 1)"));
  }
}
