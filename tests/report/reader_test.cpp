// Metrics files become runs: which points there are, and where they stand on the three axes.
#include <catch2/catch.hpp>

#include "neon/report/settings.h"
#include "neon/train/metrics_file.h"
#include "tests/support/temp_folder.h"

using namespace neon;

namespace {

std::vector<SeriesSpec> series_of(int64_t epochs, int64_t steps) {
  return {
      {.path = "cost/train", .length = epochs * steps, .time_markers = "minibatch"},
      {.path = "cost/loss", .length = epochs / 2, .time_markers = "epoch_freq", .epoch_freq = 2},
      {.path = "multicost/train",
       .length = epochs * steps,
       .width = 2,
       .dtype = DType::f64,
       .time_markers = "minibatch"},
      {.path = "time_markers/minibatch", .length = epochs, .units = "minibatches", .x = "epoch"},
      {.path = "time/epoch", .length = epochs, .dtype = DType::f64, .units = "seconds", .x = "epoch"},
      {.path = "hist/A_W", .length = epochs, .width = 3, .columns = true, .dtype = DType::i32, .x = "epoch"},
  };
}

// 4 epochs of 5 steps, of which 2 are done and 3 steps of the next; epochs take 10 and 30 seconds.
void write_run(const std::string& path, const std::string& spec) {
  MetricsFile file(path, series_of(4, 5),
                   {{"config", "total_epochs", int64_t(4)},
                    {"config", "total_minibatches", int64_t(20)},
                    {"time_markers", "epochs_complete", int64_t(2)},
                    {"time_markers", "minibatches_complete", int64_t(10)},
                    {"hist", "offset", int64_t(-2)},
                    {"", "spec", spec},
                    {"", "seed", std::string("7")}});
  for (int64_t step = 0; step < 13; ++step) {
    file.set("cost/train", step, 1 / double(step + 1));
    const double parts[] = {double(step), -double(step)};
    file.set("multicost/train", step, parts);
  }
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    file.set("time_markers/minibatch", epoch, double(5 * (epoch + 1)));
    file.set("time/epoch", epoch, epoch == 0 ? 10 : 30);
    const double counts[] = {0, double(epoch), 4};
    file.set("hist/A_W", epoch, counts);
  }
  file.set("cost/loss", 0, 0.25);
  file.close(RunStatus::killed);
}

}  // namespace

TEST_CASE("a run has the points that it reached, on all axes", "[report]") {
  const TempFolder folder;
  write_run(folder / "a.h5", "batch_size: 3\n");
  const ReportedRun run = read_run(folder / "a.h5");
  CHECK(run.name == "a");
  CHECK(run.status == "killed");

  const Curve& cost = *run.find("cost/train");
  REQUIRE(cost.values.size() == 13);
  CHECK(cost.values[3] == double(0.25f));
  CHECK(cost.steps.front() == 1);
  CHECK(cost.steps.back() == 13);
  CHECK(!cost.wide);
  CHECK(run.find("multicost/train[1]")->values[4] == -4);
  CHECK(run.find("multicost/train[1]")->wide);

  const Curve& loss = *run.find("cost/loss");
  CHECK(loss.values == std::vector<double>{0.25});
  CHECK(loss.steps == std::vector<double>{10});  // the end of epoch 2

  CHECK(run.timeline.epoch_at(5) == 1);
  CHECK(run.timeline.epoch_at(7.5) == 1.5);
  CHECK(run.timeline.epoch_at(12.5) == 2.5);
  CHECK(run.timeline.second_at(2.5) == 5);
  CHECK(run.timeline.second_at(7.5) == 25);
  CHECK(run.timeline.second_at(12.5) == 55);  // as fast as the epoch before
  CHECK(run.find("time/steps_per_second")->values == std::vector<double>{0.5, 5 / 30.0});

  REQUIRE(run.histograms.size() == 1);
  const HistogramCurve& histogram = run.histograms[0];
  CHECK(histogram.name == "A_W");
  CHECK(histogram.offset == -2);
  CHECK(histogram.steps == std::vector<double>{5, 10});
  CHECK(histogram.counts == std::vector<int64_t>{0, 0, 4, 0, 1, 4});
}

TEST_CASE("a folder with run.h5 is a run of the folder's name", "[report]") {
  const TempFolder folder;
  for (const char* name : {"one-1", "one-2"}) {
    std::filesystem::create_directory(folder / name);
    write_run(folder / name + "/run.h5", "batch_size: 3\n");
  }
  const auto runs = read_runs({folder / "one-1/", folder / "one-2/run.h5"});
  CHECK(runs[0].name == "one-1");
  CHECK(runs[1].name == "one-2");
  CHECK(differences(runs).empty());
  CHECK_THROWS_WITH(read_runs({folder / "one-1", folder / "one-1/run.h5"}), Catch::Contains("named twice"));
}

TEST_CASE("settings that differ are found one by one", "[report]") {
  const TempFolder folder;
  write_run(folder / "a.h5", "batch_size: 3\nlayers: [{Affine: {nout: 4}}, Dropout]\n");
  write_run(folder / "b.h5", "batch_size: 3\nlayers: [{Affine: {nout: 5}}]\n");
  const auto rows = differences(read_runs({folder / "a.h5", folder / "b.h5"}));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].key == "layers[0].Affine.nout");
  CHECK(rows[0].values == std::vector<std::string>{"4", "5"});
  CHECK(rows[1].key == "layers[1]");
  CHECK(rows[1].values == std::vector<std::string>{"Dropout", ""});
}

TEST_CASE("a layer that one spec lacks is one line without defaults", "[report]") {
  const TempFolder folder;
  write_run(folder / "a.h5",
            "layers: [{Affine: {nout: 3, batch_norm: false, name: \"\"}}]\noptimizer: {Adam: {beta_1: 0.9}}\n");
  write_run(folder / "b.h5",
            "layers: [{Affine: {nout: 8, batch_norm: true, name: \"\"}}, {Dropout: {keep: 0.8, name: \"\"}}, "
            "{BatchNorm: {rho: 0.9, eps: 0.001}}, {Affine: {nout: 4, batch_norm: false, name: \"\"}}, "
            "{Affine: {nout: 3, batch_norm: false, name: out}}]\noptimizer: {Adam: {beta_1: 0.9}}\n");
  write_run(folder / "c.h5", "layers: [{BatchNorm: {rho: 0.5, eps: 0.001}}]\noptimizer: RMSProp\n");
  using Values = std::vector<std::string>;
  const auto rows = differences(read_runs({folder / "a.h5", folder / "b.h5", folder / "c.h5"}));
  std::vector<std::pair<std::string, Values>> found;
  for (const Difference& row : rows)
    if (row.group == "spec") found.emplace_back(row.key, row.values);
  const std::vector<std::pair<std::string, Values>> expected = {
      {"layers[0]", {"Affine: 3", "Affine: {nout: 8, batch_norm: true}", ""}},
      {"layers[1]", {"", "Dropout: 0.8", ""}},
      {"layers[2|0]", {"", "BatchNorm", "BatchNorm: 0.5"}},
      {"layers[3]", {"", "Affine: 4", ""}},
      {"layers[4]", {"", "Affine: {nout: 3, name: out}", ""}},
      {"optimizer", {"Adam", "Adam", "RMSProp"}}};
  REQUIRE(found.size() == expected.size());
  for (size_t k = 0; k < found.size(); ++k) {
    CHECK(found[k].first == expected[k].first);
    CHECK(found[k].second == expected[k].second);
  }
}

TEST_CASE("a text that is no YAML is one fact", "[report]") {
  CHECK(facts_of_yaml("note", "a: [1\nb") == std::vector<Fact>{{"note", "", "a: [1\nb"}});
  CHECK(facts_of_yaml("spec", "a: {b: [x, {}]}") ==
        std::vector<Fact>{{"spec", "a.b[0]", "x"}, {"spec", "a.b[1]", "{}"}});
}
