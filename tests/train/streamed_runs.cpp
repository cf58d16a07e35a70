#include "tests/train/streamed_runs.h"

#include <signal.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "datasets/image_samples.h"
#include "datasets/png_image.h"
#include "datasets/shard_folder.h"
#include "neon/core/random.h"
#include "neon/spec/spec.h"
#include "neon/train/fingerprint.h"

using namespace neon;

namespace neon_test {

std::function<void(int64_t step)> in_step;

namespace {

struct Meddling : Parametrized<Schedule, NoParams> {
  using Parametrized::Parametrized;
  double rate(double base, const Progress& progress) const override {
    if (in_step) in_step(progress.step);
    return base / (1 + 0.1 * double(progress.step));
  }
};
NEON_REGISTER(Schedule, Meddling, "Falls, and lets a test meddle with the run.");

}  // namespace

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Sets::Sets() {
  Stream stream(5, "pixels");
  for (int i = 0; i < kImages + 11; ++i) {
    Tensor image(DType::u8, {8, 8, 3});
    for (uint8_t& pixel : image.as<uint8_t>()) pixel = uint8_t(stream.bits() % 200 + uint64_t(i % 3) * 20);
    const std::string folder = folder_ / text("images/", i < kImages ? "train/" : "test/", "abc"[i % 3]);
    std::filesystem::create_directories(folder);
    write_png(image, text(folder, "/", i, ".png"));
  }
  for (bool pixels : {false, true}) {
    const Setting path = Setting::map({{"path", Setting::scalar(folder_ / "images"), {}}});
    const auto set = Registry<Dataset>::get().create(Setting::map({{"ImageFolder", path, {}}}))->images({});
    PackOptions options;
    options.pixels = pixels;
    options.shard_bytes = pixels ? 4000 : 700'000;
    pack_images(*set, folder_ / (pixels ? "pixels" : "files"), options);
  }
}

Setting Sets::spec(const std::string& dataset, const std::string& stream, const std::string& more,
                   const std::string& of_set) const {
  const std::string path =
      dataset == "Shards" || dataset == "ShardedPixels" ? dataset == "Shards" ? "files" : "pixels" : "images";
  return spec_from_text(text("dataset: {", dataset == "ImageFolder" ? dataset : "Shards", ": {path: ", folder_ / path,
                             ", ", of_set, "stream: ", stream, "}}\n",
                             "augment: [{RandomCrop: {pad: 2}}, Flip]\n"
                             "normalize: true\n"
                             "layers:\n"
                             "  - Conv: {fshape: 3, nofm: 6, init: Kaiming, batch_norm: true, activation: Rectlin}\n"
                             "  - Dropout: {keep: 0.8}\n"
                             "  - Affine: {nout: 3, init: Kaiming, bias: {Constant: 0}, activation: Softmax}\n"
                             "cost: CrossEntropyMulti\n"
                             "optimizer: {Adam: {learning_rate: 0.01, schedule: Meddling}}\n"
                             "batch_size: 8\nrng_seed: 11\n",
                             more),
                        "test.yaml")
      .root;
}

Ended Runs::run(const Setting& spec, const std::string& name, bool go_on, int64_t stop) {
  Experiment experiment(spec);
  RunOptions options;
  options.save_path = folder_ / (name + ".safetensors");
  options.output_file = folder_ / (name + ".h5");
  options.log_file = folder_ / (name + ".log");
  options.progress_bar = false;
  options.rng_seed = 11;
  options.epochs = epochs;
  StoredRun stored;
  if (go_on) stored = load(name);
  DataContext context;
  context.seed = 11;
  Data data = experiment.params.dataset->load(context);
  set_normalization(experiment.params.normalize, data);
  for (Split* split : {&data.train, &data.test, &data.validation}) split->stays_on_host = stays_on_host;
  if (stop >= 0) in_step = [stop](int64_t step) { step == stop ? void(raise(SIGTERM)) : void(); };
  Trainer trainer(experiment, data, options, go_on ? &stored : nullptr);
  Ended out{trainer.run(), left_out_messages(data)};
  in_step = nullptr;
  return out;
}

StoredRun Runs::load(const std::string& name) const {
  std::vector<std::string> warnings;
  const std::string path = folder_ / (name + ".safetensors");
  return unpack_run(load_checkpoint(path, warnings), path);
}

void check_same(const Runs& runs, const std::string& a, const std::string& b, bool classes) {
  const StoredRun one = runs.load(a), other = runs.load(b);
  REQUIRE(one.file.tensors.size() == other.file.tensors.size());
  for (const NamedTensor& named : one.file.tensors) {
    INFO(named.name);
    const Tensor* found = other.file.find(named.name);
    REQUIRE((found && found->bytes() == named.tensor.bytes()));
    CHECK(std::memcmp(found->data(), named.tensor.data(), named.tensor.bytes()) == 0);
  }
  CHECK(one.position.step == other.position.step);
  CHECK(same_data(one.position.data, other.position.data));
  CHECK(one.meaning == other.meaning);
  const MetricsContents curves = runs.metrics(a), others = runs.metrics(b);
  std::vector<const char*> paths = {"cost/train", "cost/loss", "epoch/cost"};
  if (classes) paths.push_back("metrics/Top1Misclass");
  for (const char* path : paths) {
    INFO(path);
    const StoredSeries *series = curves.find(path), *found = others.find(path);
    REQUIRE((series && found && series->values.size() == found->values.size() && series->values.size() > 3));
    for (double value : series->values) CHECK(std::isfinite(value));
    CHECK(std::memcmp(series->values.data(), found->values.data(), series->values.size() * sizeof(double)) == 0);
  }
}

}  // namespace neon_test
