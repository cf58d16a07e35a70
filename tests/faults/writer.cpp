// A run in miniature, for the fault tests: FOLDER gets model.safetensors with a history of 2 and run.h5, saved
// every epoch. A later start goes on where the newest checkpoint is. All contents follow from the epoch, so that
// anything wrong shows:
//
//   tensor "w" is 40,000 numbers: epoch * 1000 + i % 997; cost/train[i] is 1 / (1 + i), 5 minibatches an epoch;
//   time/loss[e] is e + 0.5; epochs_complete counts.
//
//   writer run FOLDER EPOCHS    prints "start N", "messages ..." and "saved N"
//   writer check FOLDER         prints "epoch N" of the newest sound checkpoint, or "none"; exit 3 when wrong
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "neon/core/error.h"
#include "neon/train/checkpoint.h"
#include "neon/train/metrics_file.h"

using namespace neon;

namespace {

constexpr int64_t kSteps = 5, kNumbers = 40'000;

TensorFile contents_of(int64_t epoch) {
  Tensor w(DType::f32, {200, 200}), step(DType::i64, {});
  auto values = w.as<float>();
  for (int64_t i = 0; i < kNumbers; ++i) values[size_t(i)] = float(epoch * 1000 + i % 997);
  step.as<int64_t>()[0] = epoch * kSteps;
  return {{{"w", w}, {"step", step}}, {}};
}

// The epoch of a checkpoint whose contents are right; throws otherwise.
int64_t checked_epoch(const TensorFile& file) {
  const int64_t epoch = std::stoll(file.metadata.at("neon.epoch"));
  for (const auto& [name, tensor] : contents_of(epoch).tensors) {
    const Tensor* got = file.find(name);
    if (!got || got->bytes() != tensor.bytes() || std::memcmp(got->data(), tensor.data(), tensor.bytes()) != 0)
      fail(ErrorKind::data, "tensor ", name, " of epoch ", epoch, " has wrong values");
  }
  return epoch;
}

bool any_checkpoint(const std::string& folder) {
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().extension() == ".safetensors") return true;
  return false;
}

TensorFile newest(const std::string& folder) {
  std::vector<std::string> warnings;
  TensorFile file = load_checkpoint(folder + "/model.safetensors", warnings);
  for (const std::string& warning : warnings) std::printf("message %s\n", warning.c_str());
  return file;
}

void say(const std::vector<std::string>& messages) {
  for (const std::string& message : messages) std::printf("message %s\n", message.c_str());
}

void run(const std::string& folder, int64_t epochs) {
  const std::string checkpoint = folder + "/model.safetensors", metrics_path = folder + "/run.h5";
  int64_t start = 0;
  std::string run_name;
  if (any_checkpoint(folder)) {
    const TensorFile file = newest(folder);
    start = checked_epoch(file);
    run_name = file.metadata.at("neon.run");
  }
  std::printf("start %lld\n", static_cast<long long>(start));
  const MetricsFile::History history{metrics_path, start * kSteps, start};
  MetricsFile metrics(metrics_path,
                      {{.path = "cost/train", .length = epochs * kSteps, .time_markers = "minibatch"},
                       {.path = "time/loss", .length = epochs, .dtype = DType::f64, .units = "seconds", .x = "epoch"}},
                      {{"time_markers", "epochs_complete", start}}, start ? &history : nullptr);
  CheckpointSaver saver(checkpoint, 2);
  for (int64_t epoch = start; epoch < epochs; ++epoch) {
    for (int64_t i = epoch * kSteps; i < (epoch + 1) * kSteps; ++i) {
      metrics.set("cost/train", i, 1 / (1 + double(i)));
      if (i % 2) metrics.flush();
    }
    metrics.set("time/loss", epoch, double(epoch) + 0.5);
    metrics.set_attribute("time_markers", "epochs_complete", double(epoch + 1));
    metrics.flush();
    TensorFile contents = contents_of(epoch + 1);
    if (!run_name.empty()) contents.metadata["neon.run"] = run_name;
    try {
      say(saver.save(std::move(contents), epoch + 1));
      std::printf("saved %lld\n", static_cast<long long>(epoch + 1));
    } catch (const Error& error) {
      std::printf("failed %s\n", error.what());
    }
    say(metrics.take_messages());
  }
  metrics.close(RunStatus::complete);
  say(metrics.take_messages());
}

}  // namespace

int main(int count, char** arguments) {
  setvbuf(stdout, nullptr, _IOLBF, 0);  // what was said before a kill must be known
  const std::string verb = count > 2 ? arguments[1] : "";
  try {
    if (verb == "run" && count == 4) run(arguments[2], std::stoll(arguments[3]));
    else if (verb == "check" && !any_checkpoint(arguments[2])) std::puts("none");
    else if (verb == "check") std::printf("epoch %lld\n", static_cast<long long>(checked_epoch(newest(arguments[2]))));
    else return 2;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return exit_code(error.kind());
  }
  return 0;
}
