// The folder of a search.
#include "neon/search/trials.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "neon/core/error.h"
#include "tests/support/temp_folder.h"

using namespace neon;
using Catch::Contains;

namespace {

nlohmann::ordered_json settings(const std::string& method) { return {{"method", method}, {"seed", 3}}; }

}  // namespace

TEST_CASE("trials are read back as they were written", "[search]") {
  TempFolder folder;
  const std::string path = folder / "found";
  Trial trial;
  trial.number = 1, trial.values = {{"rate", "0.01"}, {"act", "{ELU: {alpha: 0.5}}"}}, trial.seed = 77;
  trial.status = Trial::Status::pruned, trial.objective = 0.1, trial.curve = {{1, 0.3}, {2, 0.1}};
  trial.epochs = 2, trial.seconds = 1.5;
  Trial failed;
  failed.number = 2, failed.status = Trial::Status::diverged, failed.cause = "the cost is NaN";
  failed.of_spec = true;
  {
    TrialFolder written(path, settings("random"));
    written.set_objective({"Accuracy", true});
    written.trials() = {trial, failed};
    written.save();
    CHECK_THROWS_WITH(TrialFolder(path, settings("random")), Contains("another search is at work"));
  }
  TrialFolder read(path, settings("random"));
  REQUIRE(read.trials().size() == 2);
  const Trial& one = read.trials()[0];
  CHECK(one.values == trial.values);
  CHECK(one.curve == trial.curve);
  CHECK(one.objective == trial.objective);
  CHECK(one.status == trial.status);
  CHECK(one.seed == 77);
  CHECK(read.trials()[1].cause == "the cost is NaN");
  CHECK(read.trials()[1].of_spec);
  CHECK_FALSE(one.of_spec);
  CHECK_FALSE(read.trials()[1].objective);
  CHECK(read.objective().rises);
  CHECK(read.best() == nullptr);  // no trial was trained to its end
}

TEST_CASE("the lower cost decides between trials of equal objectives", "[search]") {
  TempFolder folder;
  const std::string path = folder / "found";
  {
    TrialFolder written(path, settings("random"));
    for (const auto& [objective, cost] : {std::pair{0.1, std::optional(0.9)},
                                          {0.1, std::optional(0.5)},
                                          {0.1, std::nullopt},
                                          {0.2, std::optional(0.1)}}) {
      Trial trial;
      trial.number = int64_t(written.trials().size()) + 1;
      trial.status = Trial::Status::done, trial.objective = objective, trial.cost = cost;
      written.trials().push_back(trial);
    }
    written.save();
  }
  TrialFolder read(path, settings("random"));
  CHECK(read.best()->number == 2);
  read.trials()[1].cost.reset();  // as an older search stored it
  CHECK(read.best()->number == 1);
}

TEST_CASE("the best trial is that of the objective's direction", "[search]") {
  TempFolder folder;
  TrialFolder trials(folder / "found", settings("random"));
  for (const double objective : {0.3, 0.1, 0.2}) {
    Trial trial;
    trial.number = int64_t(trials.trials().size()) + 1;
    trial.status = Trial::Status::done, trial.objective = objective;
    trials.trials().push_back(trial);
  }
  CHECK(trials.best()->number == 2);
  trials.set_objective({"Accuracy", true});
  CHECK(trials.best()->number == 1);
}

TEST_CASE("a folder of another search, or one that is damaged, is refused", "[search]") {
  TempFolder folder;
  const std::string path = folder / "found";
  { TrialFolder(path, settings("random")).save(); }
  CHECK_THROWS_WITH(TrialFolder(path, settings("grid")), Contains("has trials with another method, \"random\""));
  std::ofstream(path + "/trials.jsonl") << "{\"trial\": 1}\n";
  CHECK_THROWS_WITH(TrialFolder(path, settings("random")), Contains("trials.jsonl:1: is no trial of a search"));
  std::ofstream(path + "/settings.json") << "[";
  CHECK_THROWS_WITH(TrialFolder(path, settings("random")), Contains("is no JSON object"));
  std::filesystem::remove(path + "/settings.json");
  CHECK_THROWS_WITH(TrialFolder(path, settings("random")), Contains("stands without settings.json"));
}
