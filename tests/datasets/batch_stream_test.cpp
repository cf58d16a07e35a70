// Batches that are read ahead: every sample once an epoch, in the order that seed and epoch draw, whatever the threads.
#include "datasets/batch_stream.h"

#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <set>

#include "neon/core/random.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

// Sample i has pixels i, i + 1 ... and label i % 7; reads are counted.
struct Numbers : SampleReader {
  explicit Numbers(int64_t n, int64_t bad = -1, bool leaves_out = false) : n(n), bad(bad), leaves_out(leaves_out) {}
  int64_t size() const override { return n; }
  Shape sample() const override { return {3, 2, 2}; }
  int32_t label(int64_t index) const override { return int32_t(index % 7); }
  LeftOut* left_out() const override { return leaves_out ? &noted : nullptr; }
  uint32_t checksum(int64_t index) const override { return uint32_t(index); }
  int32_t read(int64_t index, std::span<uint8_t> pixels, ReadScratch&) const override {
    if (index == bad) fail(kind, "sample ", index, " is bad");
    for (size_t k = 0; k < pixels.size(); ++k) pixels[k] = uint8_t(size_t(index) + k);
    return int32_t(index % 7);
  }
  const int64_t n, bad;
  const bool leaves_out;
  ErrorKind kind = ErrorKind::data;
  mutable LeftOut noted;
};

BatchSlot slot_of(std::vector<uint8_t>& pixels, std::vector<int32_t>& labels) {
  return {std::as_writable_bytes(std::span(pixels)), std::as_writable_bytes(std::span(labels))};
}

// A stream with memory for its batches.
class Batches {
 public:
  Batches(const SampleReader& reader, const StreamOptions& options, int slots = 4)
      : pixels_(size_t(slots), std::vector<uint8_t>(size_t(options.batch) * 12)),
        labels_(size_t(slots), std::vector<int32_t>(size_t(options.batch))),
        keys_(size_t(slots), std::vector<SampleKey>(size_t(options.batch))),
        stream_(reader, options, slots_of()) {}

  // Takes the batch: its samples by their first pixels.
  std::vector<int64_t> samples(int64_t number) {
    int64_t count = 0;
    while (count == 0) count = stream_.take(number, std::chrono::milliseconds(50));
    const auto& pixels = pixels_[size_t(number) % pixels_.size()];
    const auto& labels = labels_[size_t(number) % labels_.size()];
    const auto& keys = keys_[size_t(number) % keys_.size()];
    std::vector<int64_t> out;
    for (size_t i = 0; i < size_t(count); ++i) {
      out.push_back(pixels[i * 12]);
      if (std::ranges::count(stream_.left_out(number), int64_t(i))) continue;
      CHECK(labels[i] == out.back() % 7);
      CHECK((keys[i].index == out.back() && keys[i].epoch == number / stream_.batches_per_epoch()));
      for (size_t k = 0; k < 12; ++k) CHECK(pixels[i * 12 + k] == uint8_t(size_t(out.back()) + k));
    }
    left_out = stream_.left_out(number);
    stream_.release();
    return out;
  }
  BatchStream& stream() { return stream_; }
  std::vector<int64_t> left_out;  // places in the batch taken last

 private:
  std::vector<BatchSlot> slots_of() {
    std::vector<BatchSlot> out;
    for (size_t i = 0; i < pixels_.size(); ++i) {
      out.push_back(slot_of(pixels_[i], labels_[i]));
      out.back().samples = keys_[i];
    }
    return out;
  }
  std::vector<std::vector<uint8_t>> pixels_;
  std::vector<std::vector<int32_t>> labels_;
  std::vector<std::vector<SampleKey>> keys_;
  BatchStream stream_;
};

}  // namespace

TEST_CASE("batches are those of the epoch's order, whatever the threads, and from wherever they begin") {
  const Numbers reader(50);
  for (int threads : {1, 3})
    for (int slots : {1, 4}) {
      Batches batches(reader, {.batch = 8, .seed = 9, .threads = threads}, slots);
      CHECK(batches.stream().batches_per_epoch() == 7);
      for (int64_t epoch = 0; epoch < 3; ++epoch) {
        std::vector<int64_t> seen;
        for (int64_t b = 0; b < 7; ++b) {
          const auto samples = batches.samples(epoch * 7 + b);
          CHECK(samples.size() == (b < 6 ? 8u : 2u));
          seen.insert(seen.end(), samples.begin(), samples.end());
        }
        // Fisher and Yates, with the numbers of the stream "order".
        std::vector<int64_t> wanted(50);
        for (size_t i = 0; i < 50; ++i) wanted[i] = int64_t(i);
        Stream draws(9, "order", uint64_t(epoch));
        for (size_t i = 50; i > 1; --i) std::swap(wanted[i - 1], wanted[draws.below(uint32_t(i))]);
        CHECK(seen == wanted);
      }
      Batches later(reader, {.batch = 8, .seed = 9, .first = 9, .threads = threads}, slots);
      Batches again(reader, {.batch = 8, .seed = 9, .first = 8, .threads = 2});
      again.samples(8);
      CHECK(later.samples(9) == again.samples(9));
    }
  Batches plain(reader, {.batch = 30, .order = SampleOrder::as_given});
  CHECK(plain.samples(0)[29] == 29);
  CHECK(plain.samples(1).size() == 20);
}

TEST_CASE("a sample that cannot be read is an error of its batch, not of those before") {
  const Numbers reader(40, 25);
  Batches batches(reader, {.batch = 10, .order = SampleOrder::as_given, .threads = 3});
  for (int64_t b : {0, 1}) batches.samples(b);
  CHECK(error_of([&] { batches.samples(2); }) == "data: sample 25 is bad");
}

TEST_CASE("the next sample that can be read stands in for one that is left out, or its place is told") {
  for (int threads : {1, 3}) {
    const Numbers reader(40, 39, true);
    Batches trained(reader, {.batch = 10, .order = SampleOrder::as_given, .threads = threads});
    for (int64_t b : {0, 1, 2}) CHECK(trained.samples(b).back() == 10 * b + 9);
    const auto samples = trained.samples(3);
    CHECK((samples[8] == 38 && samples[9] == 0));
    Batches evaluated(reader, {.batch = 10, .order = SampleOrder::as_given, .threads = threads, .stand_ins = false});
    for (int64_t b : {0, 1, 2}) {
      evaluated.samples(b);
      CHECK(evaluated.left_out.empty());
    }
    evaluated.samples(3);
    CHECK(evaluated.left_out == std::vector<int64_t>{9});
    CHECK((reader.left_out()->count() == 1 && reader.left_out()->first() == "sample 39 is bad"));
  }
}

TEST_CASE("only samples that are bad are left out, and any other trouble keeps its kind") {
  for (const bool leaves_out : {false, true})
    for (const bool stand_ins : {false, true}) {
      Numbers reader(40, 25, leaves_out);
      reader.kind = ErrorKind::memory;
      Batches batches(reader, {.batch = 10, .order = SampleOrder::as_given, .threads = 3, .stand_ins = stand_ins});
      for (int64_t b : {0, 1}) batches.samples(b);
      CHECK(error_of([&] { batches.samples(2); }) == "memory: sample 25 is bad");
      CHECK(reader.noted.count() == 0);
    }
}

TEST_CASE("an order that there is no memory for is an error of the batch") {
  std::vector<uint8_t> pixels(10 * 12);
  std::vector<int32_t> labels(10);
  const Numbers reader(int64_t(1) << 62);
  BatchStream stream(reader, {.batch = 10, .threads = 3}, {slot_of(pixels, labels)});
  CHECK_THROWS_AS(stream.take(0, std::chrono::seconds(10)), std::length_error);
}

// Sanitizers end the program where there is no address space for their own books on a thread.
#ifndef NEON_WATCHED
TEST_CASE("a thread that cannot be started is an error, and those that were end") {
  const Numbers reader(40);
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit former{};
  REQUIRE(getrlimit(RLIMIT_AS, &former) == 0);
  // Address space for the stacks of a few threads.
  rlimit scarce = former;
  scarce.rlim_cur = rlim_t(pages * getpagesize()) + (rlim_t(64) << 20);
  REQUIRE(setrlimit(RLIMIT_AS, &scarce) == 0);
  const std::string error = error_of([&] { Batches batches(reader, {.batch = 10, .threads = 100}); });
  REQUIRE(setrlimit(RLIMIT_AS, &former) == 0);
  CHECK(error.find(" of the 100 threads that are to read samples can be started: Resource temporarily unavailable") !=
        std::string::npos);
}
#endif

TEST_CASE("a slot is not written to before it is given back") {
  const Numbers reader(40);
  std::vector<uint8_t> pixels(10 * 12);
  std::vector<int32_t> labels(10);
  BatchStream stream(reader, {.batch = 10, .order = SampleOrder::as_given, .threads = 3}, {slot_of(pixels, labels)});
  while (stream.take(0, std::chrono::milliseconds(50)) == 0) continue;
  CHECK(stream.take(1, std::chrono::milliseconds(100)) == 0);
  CHECK(pixels[9 * 12] == 9);
  stream.release();
  while (stream.take(1, std::chrono::milliseconds(50)) == 0) continue;
  CHECK(pixels[9 * 12] == 19);
}
