// A set that is read while the run goes on: the bits of the same set held in memory, wherever the run stops and goes
// on; what is wrong with a file.
#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstring>

#include "datasets/image_samples.h"
#include "datasets/shard_folder.h"
#include "neon/spec/spec.h"
#include "tests/train/streamed_runs.h"

using namespace neon;
using namespace neon_test;

TEST_CASE("streamed and held in memory, a run has the same bits") {
  const Sets sets;
  for (const char* threads : {"1", "3"})
    for (const char* dataset : {"ImageFolder", "Shards", "ShardedPixels"}) {
      INFO(dataset << " with " << threads << " threads");
      setenv("OMP_NUM_THREADS", threads, 1);
      Runs runs;
      REQUIRE(runs.run(sets.spec(dataset, "false"), "held").result.position.step == 4 * kStepsPerEpoch);
      runs.run(sets.spec(dataset, "true"), "streamed");
      check_same(runs, "held", "streamed");
    }
  setenv("OMP_NUM_THREADS", "1", 1);
}

TEST_CASE("a run whose samples stay on the host has the bits of one whose do not") {
  // 142 to train with, the last batch has 6; 35 and 61 to evaluate.
  const auto spec = [](const std::string& set, const std::string& cost, const std::string& layer) {
    return spec_from_text(text("dataset: {UniformRandom: {ntrain: 177, ntest: 61, validation: 35, ", set, "}}\n",
                               "layers: [Affine: {nout: 9, init: Kaiming, activation: Tanh}, Dropout: {keep: 0.8},\n",
                               "         Affine: {init: Kaiming, ", layer, "}]\n", "cost: ", cost,
                               "\noptimizer: {Adam: {learning_rate: 0.01, schedule: Meddling}}\n"
                               "metrics: ",
                               cost == "SumSquared" ? "[]" : "[Misclassification]", "\nbatch_size: 8\nrng_seed: 11\n"),
                          "test.yaml")
        .root;
  };
  const std::string softmax = "nout: 3, activation: Softmax";
  const std::pair<const char*, Setting> specs[] = {
      {"numbers", spec("nin: [5], nout: 3", "CrossEntropyMulti", softmax)},
      {"bytes", spec("nin: [3, 4, 4], bytes: true, nout: 3", "CrossEntropyMulti", softmax)},
      {"own targets", spec("nin: [5], nout: 0", "SumSquared", "nout: 5, activation: Identity")}};
  for (const auto& [name, of_set] : specs) {
    INFO(name);
    const bool classes = name != std::string("own targets");
    Runs runs;
    const Ended held = runs.run(of_set, "held");
    REQUIRE(held.result.position.step == 4 * 18);
    CHECK_FALSE(held.result.waiting);
    runs.stays_on_host = true;
    const Ended ring = runs.run(of_set, "ring");
    CHECK(ring.result.waiting);
    CHECK(ring.result.results == held.result.results);
    CHECK(ring.result.at_end == held.result.at_end);
    check_same(runs, "held", "ring", classes);
    REQUIRE(runs.run(of_set, "stopped", false, 23).result.signal == SIGTERM);
    runs.stays_on_host = false;
    runs.run(of_set, "stopped", true);
    check_same(runs, "held", "stopped", classes);
  }
}

TEST_CASE("streamed samples may be their own targets") {
  const Sets sets;
  Runs runs;
  for (const char* stream : {"false", "true"})
    runs.run(spec_from_text(text("dataset: {ImageFolder: {path: ", sets / "images",
                                 ", autoencoder: true, stream: ", stream, "}}\n",
                                 "layers: [Affine: {nout: 9, init: Kaiming, activation: Tanh},\n"
                                 "         Affine: {nout: 192, init: Kaiming, activation: Logistic}]\n"
                                 "cost: SumSquared\n"
                                 "optimizer: {Adam: {learning_rate: 0.01}}\n"
                                 "batch_size: 8\nrng_seed: 11\n"),
                            "test.yaml")
                 .root,
             stream);
  const StoredRun held = runs.load("false"), streamed = runs.load("true");
  REQUIRE(held.file.tensors.size() > 2);
  for (const NamedTensor& named : held.file.tensors) {
    const Tensor* found = streamed.file.find(named.name);
    REQUIRE((found && found->bytes() == named.tensor.bytes()));
    CHECK(std::memcmp(found->data(), named.tensor.data(), named.tensor.bytes()) == 0);
  }
}

TEST_CASE("a streamed run goes on in the middle of an epoch, held in memory or not") {
  const Sets sets;
  Runs runs;
  runs.run(sets.spec("ImageFolder", "false"), "straight");
  for (int64_t stop : {0, 5, 8, 17}) {
    INFO("stopped in step " << stop);
    for (bool streamed_first : {true, false}) {
      const auto first = sets.spec("ImageFolder", streamed_first ? "true" : "false");
      REQUIRE(runs.run(first, "stopped", false, stop).result.signal == SIGTERM);
      REQUIRE(runs.load("stopped").position.step == stop + 1);
      REQUIRE(runs.run(sets.spec("ImageFolder", "true"), "stopped", true).result.signal == 0);
      check_same(runs, "straight", "stopped");
    }
    REQUIRE(runs.run(sets.spec("ImageFolder", "true"), "back", false, stop).result.signal == SIGTERM);
    REQUIRE(runs.run(sets.spec("ImageFolder", "false"), "back", true).result.signal == 0);
    check_same(runs, "straight", "back");
  }
  // Another set is none to go on with. Other values in files of the same names and sizes are found too.
  auto goes_on = [&](const char* stream, const std::string& name) {
    const std::string error = error_of([&] { runs.run(sets.spec("ImageFolder", stream), name, true); });
    const bool other = error.find("the data are not those that the run began with") != std::string::npos;
    CHECK((other || error == "no error"));
    return !other;
  };
  runs.run(sets.spec("ImageFolder", "true"), "streamed", false, 3);
  runs.run(sets.spec("ImageFolder", "false"), "held", false, 3);
  int replaced = 0;  // more than one: a subset may leave one out
  for (const auto& entry : std::filesystem::directory_iterator(sets / "images/train/b")) {
    if (entry.file_size() != std::filesystem::file_size(sets / "images/train/a/0.png")) continue;
    std::filesystem::copy_file(sets / "images/train/a/0.png", entry.path(),
                               std::filesystem::copy_options::overwrite_existing);
    ++replaced;
  }
  REQUIRE(replaced > 1);
  for (const char* stream : {"true", "false"}) {
    CHECK_FALSE(goes_on(stream, "held"));
    CHECK_FALSE(goes_on(stream, "streamed"));
  }
  std::filesystem::copy_file(sets / "images/train/a/0.png", sets / "images/train/b/extra.png");
  for (const char* stream : {"true", "false"}) {
    CHECK_FALSE(goes_on(stream, "held"));
    CHECK_FALSE(goes_on(stream, "streamed"));
  }
}

TEST_CASE("a run does not go on with a replaced shard") {
  const Sets sets;
  Runs runs;
  runs.run(sets.spec("ShardedPixels", "true"), "streamed", false, 3);
  // Shards of the same names, sizes and counts as index.json has them, in which one image is another.
  std::filesystem::copy_file(sets / "images/train/a/0.png", sets / "images/train/b/1.png",
                             std::filesystem::copy_options::overwrite_existing);
  const Setting path = Setting::map({{"path", Setting::scalar(sets / "images"), {}}});
  PackOptions options;
  options.pixels = true;
  options.shard_bytes = 4000;
  pack_images(*Registry<Dataset>::get().create(Setting::map({{"ImageFolder", path, {}}}))->images({}), sets / "others",
              options);
  int changed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(sets / "others")) {
    const std::string name = entry.path().filename().string(), was = sets / ("pixels/" + name);
    if (name == "index.json") continue;
    REQUIRE(std::filesystem::file_size(was) == entry.file_size());
    changed += file_content(was) != file_content(entry.path().string());
    std::filesystem::copy_file(entry.path(), was, std::filesystem::copy_options::overwrite_existing);
  }
  REQUIRE(changed == 1);
  for (const char* stream : {"true", "false"})
    CHECK(error_of([&] {
            runs.run(sets.spec("ShardedPixels", stream), "streamed", true);
          }).find("the data are not those that the run began with") != std::string::npos);
}

TEST_CASE("an image that cannot be read ends a streamed run, by name, and the last checkpoint stays") {
  const Sets sets;
  Runs runs;
  runs.epochs = 9;  // batches of the epochs to come are there already
  const std::string bad = sets / "images/train/b/40.png";
  in_step = [&](int64_t step) {
    if (step == kStepsPerEpoch) put_file(bad, "no image any more");
  };
  const std::string error = error_of([&] { runs.run(sets.spec("ImageFolder", "true", "", ""), "run"); });
  INFO(error);
  in_step = nullptr;
  CHECK(error.find(bad + ": expected a JPEG, PNG, BMP, GIF, TIFF or WebP image") != std::string::npos);
  CHECK(error.find("on_bad_sample=skip") != std::string::npos);
  CHECK(error.find("the last good checkpoint is ") != std::string::npos);
  CHECK(runs.load("run").position.epoch >= 1);
  CHECK(std::get<std::string>(*runs.metrics("run").find("", "status")) == "killed");
}

TEST_CASE("a shard that is cut while a run reads it is named, and the last checkpoint stays") {
  const Sets sets;
  Runs runs;
  runs.epochs = 9;
  const std::string shard = sets / "pixels/train-0001.shard";
  in_step = [&](int64_t step) {
    if (step == kStepsPerEpoch) std::filesystem::resize_file(shard, 100);
  };
  const std::string error = error_of([&] { runs.run(sets.spec("ShardedPixels", "true"), "run"); });
  INFO(error);
  in_step = nullptr;
  CHECK(error.find(shard + ": truncated: ends where more bytes are expected") != std::string::npos);
  CHECK(error.find("the last good checkpoint is ") != std::string::npos);
  CHECK(runs.load("run").position.epoch >= 1);
}

TEST_CASE("bad images are left out of a stream, counted and told") {
  const Sets sets;
  put_file(sets / "images/train/a/3.png", "no image");
  put_file(sets / "images/train/c/8.png", "none either");
  put_file(sets / "images/test/a/51.png", "nor this");
  Runs runs;
  const Ended ended = runs.run(sets.spec("ImageFolder", "true", "", "on_bad_sample: skip, "), "run");
  CHECK(ended.result.position.step == 4 * 7);  // 50 samples still
  REQUIRE(ended.left_out.size() == 2);
  CHECK(ended.left_out[0].find("2 of 50 training images were left out, and others stood in for them; the first: ") !=
        std::string::npos);
  CHECK(ended.left_out[0].find("train/a/3.png: expected a JPEG, PNG") != std::string::npos);
  CHECK(ended.left_out[1].find("1 of 11 test images was left out; the first: ") != std::string::npos);
  // Once, and as soon as an epoch ends, also of a run that fails later.
  const auto told = [&](const std::string& name) {
    const std::string log = runs.log(name), line = " of 50 training images w";
    const size_t at = log.find(line);
    return at == log.npos ? 0 : log.find(line, at + 1) == log.npos ? 1 : 2;
  };
  CHECK(told("run") == 1);
  in_step = [&](int64_t step) {
    if (step == 15) CHECK(told("failing") == 1);
    if (step == 16) fail(ErrorKind::failed, "the end");
  };
  const Setting skips = sets.spec("ImageFolder", "true", "", "on_bad_sample: skip, ");
  CHECK(error_of([&] { runs.run(skips, "failing"); }) == "the end");
  in_step = [&](int64_t) { fail(ErrorKind::failed, "the end"); };
  CHECK(error_of([&] { runs.run(skips, "failing at once"); }) == "the end");
  in_step = nullptr;
  CHECK((told("failing") == 1 && told("failing at once") == 1));
  // The evaluation counts the other ten: of the same weights it is that of the set in memory.
  runs.run(sets.spec("ImageFolder", "false", "", "on_bad_sample: skip, "), "held");
  for (const char* stream : {"true", "false"}) {
    INFO(stream);
    Experiment experiment(sets.spec("ImageFolder", stream, "", "on_bad_sample: skip, "));
    const Data data = experiment.params.dataset->load({});
    Variables variables;
    StepOptions options;
    options.batch = 4;
    Data normalized = data;
    const StoredRun stored = runs.load("held");
    set_normalization({stored.meaning.means, stored.meaning.deviations}, normalized);
    Evaluator evaluator(experiment, layout_of(normalized), {normalized.test, "test"}, options, variables, false, {});
    restore_variables(evaluated_weights(stored.file, false), "held", variables);
    const auto results = evaluator.run();
    CHECK(results == evaluator.run());
    CHECK(results.at("cost") == Approx(runs.metrics("held").find("cost/loss")->values.back()).epsilon(1e-6));
  }
}

TEST_CASE("a run that was stopped in its last evaluation makes up for it") {
  const Sets sets;
  Runs runs;
  runs.run(sets.spec("ImageFolder", "false"), "straight");
  const int64_t last = 4 * kStepsPerEpoch - 1;
  REQUIRE(runs.run(sets.spec("ImageFolder", "true"), "stopped", false, last).result.signal == SIGTERM);
  REQUIRE(runs.load("stopped").position.epoch == 3);
  REQUIRE(runs.run(sets.spec("ImageFolder", "true"), "stopped", true).result.signal == 0);
  check_same(runs, "straight", "stopped");
}
