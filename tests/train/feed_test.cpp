// What a run reads its batches from: any batch at any time, waits that are counted, signals that end them.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "backends/graph/expression.h"
#include "datasets/batch_stream.h"
#include "neon/spec/spec.h"
#include "neon/train/batch_feed.h"
#include "neon/train/trainer.h"

using namespace neon;

namespace {

// Samples that come so slowly that a run waits for them, longer than a crowded machine takes to end a run.
constexpr std::chrono::seconds kSlowRead(4);
std::atomic<int> slow_reads = 0;
struct SlowSamples : SampleReader {
  int64_t size() const override { return 64; }
  Shape sample() const override { return {3, 4, 4}; }
  int32_t label(int64_t index) const override { return int32_t(index % 2); }
  uint32_t checksum(int64_t index) const override { return uint32_t(index); }
  int32_t read(int64_t index, std::span<uint8_t> pixels, ReadScratch&) const override {
    if (++slow_reads > 8) std::this_thread::sleep_for(kSlowRead);
    for (size_t k = 0; k < pixels.size(); ++k) pixels[k] = uint8_t(size_t(index) * 7 + k);
    return label(index);
  }
};

// A run of two steps an epoch, which is told to stop while the ninth of SlowSamples is waited for.
struct Stopped {
  RunResult result;
  std::chrono::steady_clock::duration took{};  // from the signal on
};
Stopped stopped_while_waiting(const Data& data, RunOptions options) {
  Experiment experiment(spec_from_text("dataset: Iris\n"
                                       "layers: [Affine: {nout: 2, init: Kaiming, activation: Softmax}]\n"
                                       "cost: CrossEntropyMulti\n"
                                       "optimizer: {GradientDescentMomentum: {learning_rate: 0.1}}\n"
                                       "batch_size: 8\nrng_seed: 3\n",
                                       "test.yaml")
                            .root);
  using Clock = std::chrono::steady_clock;
  slow_reads = 0;
  options.progress_bar = false;
  Trainer trainer(experiment, data, options);
  Clock::time_point raised;
  std::thread sender([&] {
    while (slow_reads < 9) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    raised = Clock::now();
    kill(getpid(), SIGTERM);
  });
  Stopped out{trainer.run(), {}};
  const auto ended = Clock::now();
  sender.join();
  out.took = ended - raised;
  return out;
}

Data data_of_two_classes() {
  Data out;
  out.sample = {3, 4, 4};
  out.channels_last = true;
  out.classes = 2;
  return out;
}

}  // namespace

TEST_CASE("a feed goes back to a batch, and on from any") {
  struct Numbers : SampleReader {
    int64_t size() const override { return 30; }
    Shape sample() const override { return {1, 1, 1}; }
    int32_t label(int64_t index) const override { return int32_t(index); }
    uint32_t checksum(int64_t index) const override { return uint32_t(index); }
    int32_t read(int64_t index, std::span<uint8_t> pixels, ReadScratch&) const override {
      pixels[0] = uint8_t(2 * index);
      return label(index);
    }
  };
  Split streamed, held;
  streamed.reader = std::make_shared<Numbers>();
  held.inputs = Tensor(DType::u8, {30, 1, 1, 1});
  held.targets = Tensor(DType::i32, {30});
  for (int64_t i = 0; i < 30; ++i) held.inputs.set(i, double(2 * i)), held.targets.set(i, double(i));
  const auto order = GENERATE(SampleOrder::drawn, SampleOrder::balanced);
  const bool samples = GENERATE(true, false);
  CAPTURE(int(order), samples);
  std::vector<std::vector<double>> seen[2];
  for (int k : {0, 1}) {
    FeedOptions options;
    options.batch = 8;
    options.seed = 7;
    options.order = order;
    options.samples = samples;
    const auto feed = make_feed(k ? streamed : held, options);
    Graph graph;
    const Value indices = graph.input("indices", DType::i32, {8});
    graph.output("data", gather(graph, graph.input("data", DType::u8, {feed->rows(), 1, 1, 1}), indices));
    graph.output("targets", gather(graph, graph.input("targets", DType::i32, {feed->rows(), 1}), indices));
    if (samples) graph.output("samples", graph.input("samples", DType::i32, {8, 2}));
    Variables variables;
    const auto program = compile_program(graph, variables, {.sequences = BatchFeed::sequences()});
    const auto again = compile_for_cpu(graph, variables, {});
    feed->bind(*program);
    auto look = [&](const Program& at) {
      seen[k].emplace_back();
      for (const auto& [name, value] : graph.outputs())
        for (int64_t i = 0; i < at.output(name).elements(); ++i) seen[k].back().push_back(at.output(name).at(i));
    };
    // Whole batches: the fourth of an epoch has 6 samples.
    for (const int64_t number : {0, 1, 2, 1, 2, 4, 5, 21, 22, 24, 4}) {
      INFO(number);
      REQUIRE(feed->next(*program, number));
      program->run(0);
      look(*program);
      feed->bind_again(*again, number);
      again->run(0);
      look(*again);
      CHECK(seen[k].back() == seen[k][seen[k].size() - 2]);
    }
  }
  CHECK(seen[0] == seen[1]);
  CHECK(seen[0][2] != seen[0][4]);
  CHECK(seen[0][2] != seen[0][12]);  // the same batch of the next epoch
}

namespace {

struct Kind {
  const char* name;
  DType input;
  Shape sample;
  std::optional<DType> target;
  Shape of_target;  // rank 0: (n) targets
};

// Inputs and targets count on from different numbers, so that no two rows are the same.
Split numbered(const Kind& kind, int64_t n) {
  Split out;
  out.inputs = Tensor(kind.input, Shape{n}.concat(kind.sample));
  for (int64_t i = 0; i < out.inputs.elements(); ++i) out.inputs.set(i, double(i * 7 % 251));
  if (!kind.target) return out;
  out.targets = Tensor(*kind.target, Shape{n}.concat(kind.of_target));
  for (int64_t i = 0; i < out.targets.elements(); ++i) out.targets.set(i, double(i + 1000));
  return out;
}

// What runs read of a feed: a gathered row of each input.
struct Reading {
  Reading(const Split& split, const Kind& kind, BatchFeed& feed, int64_t batch, bool weighted) {
    Graph graph;
    const Value indices = graph.input("indices", DType::i32, {batch});
    const auto add = [&](const char* name, DType dtype, const Shape& row) {
      const Shape shape = Shape{feed.rows()}.concat(row);
      graph.output(name, gather(graph, graph.input(name, dtype, shape), indices));
      names.emplace_back(name);
    };
    add("data", kind.input, kind.sample);
    const Shape targets = target_rows(split.targets).shape();
    if (kind.target) add("targets", *kind.target, targets.slice(1, targets.rank()));
    if (weighted) {
      graph.output("weight", graph.input("weight", DType::f32, {batch, 1}));
      names.emplace_back("weight");
    }
    graph.output("samples", graph.input("samples", DType::i32, {batch, 2}));
    program = compile_program(graph, variables, {.sequences = BatchFeed::sequences()});
    feed.bind(*program);
  }
  std::vector<double> values(const std::string& name) const {
    const Tensor found = program->output(name);
    std::vector<double> out;
    for (int64_t i = 0; i < found.elements(); ++i) out.push_back(found.at(i));
    return out;
  }
  std::vector<std::string> names;
  Variables variables;
  std::unique_ptr<Program> program;
};

// Rows of an array.
std::vector<double> rows(const Tensor& array, const std::vector<int32_t>& which) {
  std::vector<double> out;
  const int64_t size = array.elements() / array.shape()[0];
  for (int32_t row : which)
    for (int64_t k = 0; k < size; ++k) out.push_back(array.at(row * size + k));
  return out;
}

const Kind kinds[] = {{"bytes and labels", DType::u8, {3, 5}, DType::i32, {}},
                      {"numbers and labels in rows", DType::f32, {4}, DType::i32, {1}},
                      {"numbers and a number", DType::f32, {1}, DType::f32, {}},
                      {"numbers and images", DType::f32, {2, 3, 3}, DType::f32, {3, 2, 2}},
                      {"bytes that are their own targets", DType::u8, {7}, std::nullopt, {}},
                      {"numbers that are their own targets", DType::f32, {3}, std::nullopt, {}}};
constexpr int64_t kRows = 150, kBatch = 8, kBatches = 19, kLeft = 6;

// Each sample's index, and the epoch.
std::vector<double> keys(const std::vector<int32_t>& samples, int64_t number) {
  std::vector<double> out;
  for (int32_t index : samples) out.push_back(index), out.push_back(double(number / kBatches));
  return out;
}

// Samples of batch `number`, counted through all epochs.
std::vector<int32_t> samples_of(int64_t number, bool shuffled) {
  std::vector<int32_t> order;
  if (shuffled) order = epoch_order(SampleOrder::drawn, kRows, 1, 7, number / kBatches);
  else
    for (int32_t i = 0; i < kRows; ++i) order.push_back(i);
  const auto first = order.begin() + number % kBatches * kBatch;
  return {first, std::min(first + kBatch, order.end())};
}

// Calls visit(kind, split, feed) for each kind, on the device and on the host.
template <typename Visit>
void for_each_feed(const FeedOptions& options, Visit visit) {
  for (const Kind& kind : kinds)
    for (const bool stays : {false, true}) {
      INFO(kind.name << (stays ? ", through a ring" : ", resident"));
      Split split = numbered(kind, kRows);
      split.stays_on_host = stays;
      const auto feed = make_feed(split, options);
      REQUIRE(feed->reads_ahead() == stays);
      REQUIRE((feed->rows() < kRows) == stays);
      visit(kind, split, *feed);
    }
}

}  // namespace

TEST_CASE("samples that stay on the host come in the batches of those that do not") {
  FeedOptions options;
  options.batch = kBatch;
  options.seed = 7;
  options.samples = true;
  for_each_feed(options, [](const Kind& kind, const Split& split, BatchFeed& feed) {
    const Reading whole(split, kind, feed, kBatch, false), last(split, kind, feed, kLeft, false);
    for (const int64_t number : {0, 1, 17, 18, 19, 36, 37, 38, 2}) {
      INFO("batch " << number);
      const std::vector<int32_t> samples = samples_of(number, true);
      const Reading& reading = samples.size() == kBatch ? whole : last;
      REQUIRE(feed.next(*reading.program, number));
      reading.program->run(0);
      CHECK(reading.values("data") == rows(split.inputs, samples));
      if (kind.target) CHECK(reading.values("targets") == rows(split.targets, samples));
      CHECK(reading.values("samples") == keys(samples, number));
    }
  });
}

TEST_CASE("the last batch of samples that stay on the host is filled up, and what fills it does not count") {
  FeedOptions options;
  options.batch = kBatch;
  options.order = SampleOrder::as_given;
  options.weight = DType::f32;
  options.samples = true;
  for_each_feed(options, [](const Kind& kind, const Split& split, BatchFeed& feed) {
    const Reading reading(split, kind, feed, kBatch, true);
    for (int64_t number = 0; number < 2 * kBatches; ++number) {
      INFO("batch " << number);
      std::vector<int32_t> samples = samples_of(number, false);
      std::vector<double> weight(samples.size(), 1);
      samples.resize(kBatch, samples.back());
      weight.resize(kBatch, 0);
      REQUIRE(feed.next(*reading.program, number));
      reading.program->run(0);
      CHECK(reading.values("data") == rows(split.inputs, samples));
      if (kind.target) CHECK(reading.values("targets") == rows(split.targets, samples));
      CHECK(reading.values("samples") == keys(samples, number));
      CHECK(reading.values("weight") == weight);
    }
  });
}

TEST_CASE("samples of which a ring would hold as many stay nowhere else") {
  const Kind kind{"", DType::f32, {4}, DType::i32, {}};
  FeedOptions options;
  options.batch = kBatch;
  for (const int64_t n : {1, 8, 32, 33}) {
    INFO(n);
    Split split = numbered(kind, n);
    split.stays_on_host = true;
    const auto feed = make_feed(split, options);
    CHECK(feed->reads_ahead() == (n > 4 * kBatch));
    CHECK(feed->rows() == std::min<int64_t>(n, 4 * kBatch));
    const FeedBytes bytes = feed_bytes(split, options);
    CHECK(bytes.rows == feed->rows());
    CHECK(bytes.shared == size_t(feed->rows()) * (4 * 4 + 4));
    options.samples = true;
    const FeedBytes told = feed_bytes(split, options);
    CHECK(told.shared + told.each == bytes.shared + bytes.each + size_t(feed->rows()) * 8);
    options.samples = false;
  }
}

TEST_CASE("time spent waiting for data is counted, and no other") {
  struct Samples : SampleReader {
    int64_t size() const override { return 64; }
    Shape sample() const override { return {1, 2, 2}; }
    int32_t label(int64_t) const override { return 0; }
    uint32_t checksum(int64_t index) const override { return uint32_t(index); }
    int32_t read(int64_t, std::span<uint8_t>, ReadScratch&) const override {
      std::this_thread::sleep_for(each);
      return 0;
    }
    std::chrono::milliseconds each{};
  };
  auto share_waiting = [&](int each, int between) {
    auto reader = std::make_shared<Samples>();
    reader->each = std::chrono::milliseconds(each);
    Split split;
    split.reader = reader;
    FeedOptions options;
    options.batch = 8;
    options.threads = 1;
    const auto feed = make_feed(split, options);
    Variables variables;
    Graph graph;
    const Value data = graph.input("data", DType::u8, {feed->rows(), 2, 2, 1});
    graph.output("y", gather(graph, data, graph.input("indices", DType::i32, {8})));
    const auto program = compile_program(graph, variables, {.sequences = BatchFeed::sequences()});
    feed->bind(*program);
    const auto before = std::chrono::steady_clock::now();
    for (int64_t batch = 0; batch < 8; ++batch) {
      REQUIRE(feed->next(*program, batch));
      program->run(0);
      std::this_thread::sleep_for(std::chrono::milliseconds(between));
    }
    return feed->waited() / std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  };
  CHECK(share_waiting(15, 0) > 0.7);
  CHECK(share_waiting(0, 100) < 0.3);
}

TEST_CASE("a signal that comes while data is waited for stops the run at once") {
  Data data = data_of_two_classes();
  data.train.reader = std::make_shared<SlowSamples>();
  const Stopped run = stopped_while_waiting(data, {});
  CHECK(run.result.signal == SIGTERM);
  CHECK(run.result.position.step < 3);
  CHECK(run.took < kSlowRead);
}

TEST_CASE("a signal that comes while test samples are read stops the run before the end of its epoch") {
  Data data = data_of_two_classes();
  data.train.inputs = Tensor(DType::u8, {16, 4, 4, 3});
  data.train.targets = Tensor(DType::i32, {16});
  data.test.reader = std::make_shared<SlowSamples>();
  RunOptions options;
  options.eval_freq = 1;
  options.epochs = 1;
  const Stopped run = stopped_while_waiting(data, options);
  CHECK(run.result.signal == SIGTERM);
  CHECK(run.result.results.empty());
  const Position& position = run.result.position;
  CHECK((position.step == 2 && position.epoch == 0 && position.step_in_epoch == 2));
  CHECK(run.took < kSlowRead);
}
