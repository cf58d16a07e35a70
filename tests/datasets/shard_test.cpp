// Shards, and the batches that are read ahead from them: every sample once an epoch, in the order that seed and epoch
// draw, whatever the threads.
#include "datasets/shard.h"

#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>

#include "datasets/batch_stream.h"
#include "datasets/image_classes.h"
#include "datasets/shard_folder.h"
#include "image_support.h"
#include "neon/core/free_memory.h"
#include "neon/core/random.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

Shard open(const std::string& path) { return Shard(std::make_unique<FileSource>(path)); }

std::string trouble(const TempDir& dir, const std::string& bytes) {
  const std::string path = dir.write("x.shard", bytes);
  std::string out = error_of([&] {
    const Shard shard = open(path);
    for (int64_t i = 0; i < shard.size(); ++i) shard.content(i);
  });
  if (const size_t at = out.find(path); at != out.npos) out.replace(at, path.size(), "x.shard");
  return out;
}

// A folder of images of two classes, each of a colour of its own.
void write_images(const TempDir& dir, int count, int64_t side) {
  for (int i = 0; i < count; ++i)
    dir.write(text("images/train/", i % 2 ? "odd" : "even", "/", i, ".png"), png_of(picture(side, side, 3, i)));
  dir.write("images/test/odd/0.png", png_of(picture(side, side, 3, 1)));
}

PackResult pack(const TempDir& dir, const std::string& to, PackOptions options) {
  const auto store = open_image_store(dir / "images");
  const Arrangement arranged = arrange_images(*store, offline());
  return pack_images(*store, arranged.images, arranged.classes, dir / to, options);
}

// Sample i has pixels i, i + 1 ... and label i % 7; reads are counted.
struct Numbers : SampleReader {
  explicit Numbers(int64_t n, int64_t bad = -1, bool leaves_out = false) : n(n), bad(bad), leaves_out(leaves_out) {}
  int64_t size() const override { return n; }
  Shape sample() const override { return {3, 2, 2}; }
  int32_t label(int64_t index) const override { return int32_t(index % 7); }
  LeftOut* left_out() const override { return leaves_out ? &noted : nullptr; }
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

// A stream with memory for its batches.
class Batches {
 public:
  Batches(const SampleReader& reader, const StreamOptions& options, int slots = 4)
      : pixels_(size_t(slots), std::vector<uint8_t>(size_t(options.batch) * 12)),
        labels_(size_t(slots), std::vector<int32_t>(size_t(options.batch))),
        stream_(reader, options, slots_of()) {}

  // Takes the batch: its samples by their first pixels.
  std::vector<int64_t> samples(int64_t number) {
    int64_t count = 0;
    while (count == 0) count = stream_.take(number, std::chrono::milliseconds(50));
    const auto& pixels = pixels_[size_t(number) % pixels_.size()];
    const auto& labels = labels_[size_t(number) % labels_.size()];
    std::vector<int64_t> out;
    for (size_t i = 0; i < size_t(count); ++i) {
      out.push_back(pixels[i * 12]);
      if (std::ranges::count(stream_.left_out(number), int64_t(i))) continue;
      CHECK(labels[i] == out.back() % 7);
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
    for (size_t i = 0; i < pixels_.size(); ++i) out.push_back({pixels_[i], labels_[i]});
    return out;
  }
  std::vector<std::vector<uint8_t>> pixels_;
  std::vector<std::vector<int32_t>> labels_;
  BatchStream stream_;
};

}  // namespace

TEST_CASE("a shard gives back what was written, and is what its description says") {
  const TempDir dir;
  const std::vector<std::pair<std::string, int32_t>> samples = {{"first", 3}, {"", 0}, {std::string(70000, 'x'), 5}};
  ShardWriter writer(dir / "a.shard");
  for (const auto& [content, label] : samples) writer.add(content, label);
  writer.finish();
  const Shard shard = open(dir / "a.shard");
  REQUIRE(shard.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(shard.content(int64_t(i)) == samples[i].first);
    CHECK(shard.label(int64_t(i)) == samples[i].second);
  }
  // By the description at the head of shard.h.
  const std::string bytes = read_file(dir / "a.shard");
  REQUIRE(bytes.size() == 70005 + 3 * 24 + 32);
  CHECK(bytes.substr(bytes.size() - 8) == "NEONSHRD");
  auto number = [&](size_t at, size_t size) {
    uint64_t out = 0;
    std::memcpy(&out, bytes.data() + at, size);
    return out;
  };
  CHECK((number(bytes.size() - 32, 8) == 70005 && number(bytes.size() - 24, 8) == 3));
  CHECK(number(70005 + 8, 4) == 5);
  CHECK(number(70005 + 12, 4) == crc32_z(0, reinterpret_cast<const Bytef*>("first"), 5));
  CHECK((number(70005 + 48, 8) == 5 && number(70005 + 48 + 16, 4) == 5));
}

TEST_CASE("damaged shards are errors") {
  const TempDir dir;
  ShardWriter writer(dir / "a.shard");
  writer.add("first", 3);
  writer.add("second", 1);
  writer.finish();
  const std::string good = read_file(dir / "a.shard");
  CHECK(trouble(dir, good) == "no error");
  std::string flipped = good;
  flipped[7] = 'X';
  CHECK(trouble(dir, flipped) ==
        "data: x.shard: sample 1: its checksum is wrong: the file was damaged; pack the data again");
  flipped = good;
  flipped[11 + 16] = 9;  // a label
  CHECK(trouble(dir, flipped).find("its table has another checksum") != std::string::npos);
  CHECK(trouble(dir, good.substr(0, good.size() - 1)).find("does not end as a shard does") != std::string::npos);
  CHECK(trouble(dir, "short").find("5 bytes are too few") != std::string::npos);
  CHECK(trouble(dir, good.substr(1)).find("its table has another size") != std::string::npos);
  flipped = good;
  flipped[good.size() - 12] = 2;
  CHECK(trouble(dir, flipped) == "data: x.shard: a shard of version 2, this neon reads version 1");
  CHECK(error_of([&] { ShardWriter again(dir / "a.shard"); }).find("cannot be made: File exists") != std::string::npos);
}

TEST_CASE("packed images are those of the folder, as files or as pixels") {
  const TempDir dir;
  write_images(dir, 20, 9);
  dir.write("images/train/odd/bad.png", "no image");
  for (bool pixels : {false, true}) {
    const std::string to = pixels ? "pixels" : "files";
    PackOptions options;
    CHECK(error_of([&] { pack(dir, to + "-not", options); }).find("bad.png: expected a JPEG or PNG") !=
          std::string::npos);
    options.images.on_bad_sample = "skip";
    options.pixels = pixels;
    options.shard_bytes = pixels ? 1200 : 700'000;
    const PackResult packed = pack(dir, to, options);
    CHECK(packed.left_out == 1);
    CHECK(packed.index.samples(LabelledImage::train) == 20);
    CHECK(packed.index.parts[LabelledImage::train].size() > 2);
    const Keys keys{{"path", dir / to}};
    const Data data = make("Shards", keys)->load(offline()),
               whole = make("ImageFolder", {{"path", dir / "images"}, {"on_bad_sample", "skip"}})->load(offline());
    CHECK(agrees(make("Shards", keys)->check(offline()), data));
    CHECK(data.class_names == whole.class_names);
    auto sorted = [](const Split& split) {
      std::multiset<std::vector<double>> out;
      for (int64_t i = 0; i < split.size(); ++i) {
        std::vector<double> sample = values(split.inputs.rows(i, 1));
        sample.push_back(split.targets.at(i));
        out.insert(std::move(sample));
      }
      return out;
    };
    CHECK(sorted(data.train) == sorted(whole.train));
    CHECK(sorted(data.test) == sorted(whole.test));
    double sum = 0;
    for (int64_t i = 0; i < whole.train.inputs.elements(); i += 3) sum += whole.train.inputs.at(i);
    CHECK(packed.index.means[0] == Approx(sum / (20 * 81) / 255).epsilon(1e-12));
    CHECK(error_of([&] { pack(dir, to, options); }).find("is not empty; give a folder of its own") !=
          std::string::npos);
  }
  CHECK(error_of([&] {
          make("Shards", {{"path", dir / "images"}})->load(offline());
        }).find("has no index.json") != std::string::npos);
  CHECK(error_of([&] {
          make("Shards", {{"path", dir / "pixels"}, {"size", "5"}})->load(offline());
        }).find("holds pixels (3, 9, 9), not of size 5") != std::string::npos);
  CHECK(make("Shards", {{"path", dir / "files"}, {"size", "5"}})->load(offline()).sample == Shape{3, 5, 5});
}

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
  Batches plain(reader, {.batch = 30, .shuffle = false});
  CHECK(plain.samples(0)[29] == 29);
  CHECK(plain.samples(1).size() == 20);
}

TEST_CASE("a sample that cannot be read is an error of its batch, not of those before") {
  const Numbers reader(40, 25);
  Batches batches(reader, {.batch = 10, .shuffle = false, .threads = 3});
  for (int64_t b : {0, 1}) batches.samples(b);
  CHECK(error_of([&] { batches.samples(2); }) == "data: sample 25 is bad");
}

TEST_CASE("the next sample that can be read stands in for one that is left out, or its place is told") {
  for (int threads : {1, 3}) {
    const Numbers reader(40, 39, true);
    Batches trained(reader, {.batch = 10, .shuffle = false, .threads = threads});
    for (int64_t b : {0, 1, 2}) CHECK(trained.samples(b).back() == 10 * b + 9);
    const auto samples = trained.samples(3);
    CHECK((samples[8] == 38 && samples[9] == 0));
    Batches evaluated(reader, {.batch = 10, .shuffle = false, .threads = threads, .stand_ins = false});
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
      Batches batches(reader, {.batch = 10, .shuffle = false, .threads = 3, .stand_ins = stand_ins});
      for (int64_t b : {0, 1}) batches.samples(b);
      CHECK(error_of([&] { batches.samples(2); }) == "memory: sample 25 is bad");
      CHECK(reader.noted.count() == 0);
    }
}

TEST_CASE("an order that there is no memory for is an error of the batch") {
  std::vector<uint8_t> pixels(10 * 12);
  std::vector<int32_t> labels(10);
  const Numbers reader(int64_t(1) << 62);
  BatchStream stream(reader, {.batch = 10, .threads = 3}, {{pixels, labels}});
  CHECK_THROWS_AS(stream.take(0, std::chrono::seconds(10)), std::length_error);
}

// Sanitizers end the program where there is no address space for their own books on a thread.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
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
  BatchStream stream(reader, {.batch = 10, .shuffle = false, .threads = 3}, {{pixels, labels}});
  while (stream.take(0, std::chrono::milliseconds(50)) == 0) continue;
  CHECK(stream.take(1, std::chrono::milliseconds(100)) == 0);
  CHECK(pixels[9 * 12] == 9);
  stream.release();
  while (stream.take(1, std::chrono::milliseconds(50)) == 0) continue;
  CHECK(pixels[9 * 12] == 19);
}

TEST_CASE("sets that can be streamed give the samples that they give in memory") {
  const TempDir dir;
  write_images(dir, 20, 9);
  const auto store = open_image_store(dir / "images");
  Files files;
  for (const std::string& name : store->names()) files.emplace_back(name, read_file(dir / ("images/" + name)));
  dir.write("images.tar", tar_of(files));
  pack(dir, "files", {});
  PackOptions as_pixels;
  as_pixels.pixels = true;
  pack(dir, "pixels", as_pixels);
  dir.write("list.csv", "images/train/even/0.png,x\nimages/train/odd/1.png,y\nimages/train/even/2.png,x\n");
  const std::vector<std::pair<std::string, Keys>> sets = {{"ImageFolder", {{"path", dir / "images"}, {"size", "5"}}},
                                                          {"ImageFolder", {{"path", dir / "images.tar"}}},
                                                          {"ImageList", {{"path", dir / "list.csv"}}},
                                                          {"Shards", {{"path", dir / "files"}}},
                                                          {"Shards", {{"path", dir / "pixels"}, {"subset_pct", "50"}}}};
  for (const auto& [name, keys] : sets) {
    INFO(name << " of " << keys.front().second);
    Keys streamed = keys, held = keys;
    streamed.emplace_back("stream", "true");
    held.emplace_back("stream", "false");
    const Data a = make(name, held)->load(offline()), b = make(name, streamed)->load(offline());
    CHECK(make(name, streamed)->check(offline()).streamed);
    CHECK_FALSE(make(name, held)->check(offline()).streamed);
    for (const auto& [one, other] : {std::pair{&a.train, &b.train}, {&a.test, &b.test}}) {
      CHECK(one->size() == other->size());
      CHECK((one->identity == other->identity && one->identity.empty() == (one->size() == 0)));
      if (one->size() == 0) continue;
      REQUIRE((other->reader && other->inputs.empty()));
      for (int64_t i = 0; i < one->size(); ++i) {
        ReadScratch scratch;
        Tensor pixels(DType::u8, one->inputs.rows(i, 1).shape());
        CHECK(other->reader->read(i, pixels.as<uint8_t>(), scratch) == one->label(i));
        CHECK(other->label(i) == one->label(i));
        CHECK(values(pixels) == values(one->inputs.rows(i, 1)));
      }
    }
  }
}

TEST_CASE("what is larger than its share of the room is streamed, unless it can only be read in order") {
  const TempDir dir;
  write_images(dir, 20, 9);
  DataContext context = offline();
  const double bytes = 21 * 9 * 9 * 3;
  int asked = 0;
  auto is_streamed = [&](const std::string& path, const Keys& more, double room) {
    Keys keys{{"path", path}};
    keys.insert(keys.end(), more.begin(), more.end());
    context.room = [&asked, room] { return ++asked, room; };
    return make("ImageFolder", keys)->load(context).train.reader != nullptr;
  };
  CHECK_FALSE(is_streamed(dir / "images", {}, 2 * bytes));
  CHECK(is_streamed(dir / "images", {}, 2 * bytes - 2));
  CHECK_FALSE(is_streamed(dir / "images", {{"memory_share", "0.9"}}, 2 * bytes - 2));
  // What is known without the room does not ask for it: on a GPU that costs a second.
  CHECK(asked == 3);
  CHECK_FALSE(is_streamed(dir / "images", {{"stream", "false"}}, 1));
  CHECK(is_streamed(dir / "images", {{"stream", "true"}}, 1e9));
  CHECK(asked == 3);
  std::vector<std::string> warnings;
  context.warnings = &warnings;
  const std::string packed = dir / "images.tar.gz";
  REQUIRE(std::system(("tar -C " + (dir / "images") + " -czf " + packed + " train").c_str()) == 0);
  CHECK_FALSE(is_streamed(packed, {}, 1));
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("images.tar.gz: a compressed archive is read from its start to its end only") !=
        std::string::npos);
  CHECK(error_of([&] {
          is_streamed(packed, {{"stream", "true"}}, 1);
        }).find("unpack it, or let neon data pack") != std::string::npos);
}

TEST_CASE("what is held in memory must fit in what is free") {
  const TempDir dir;
  const double of_image = 8192.0 * 8192 * 3;
  const int images = int(free_memory() / of_image) + 20;
  REQUIRE(images < 100'000);
  write_images(dir, images, 2);
  pack(dir, "files", {});
  for (const char* name : {"ImageFolder", "Shards"}) {
    INFO(name);
    const std::string path = dir / (std::string(name) == "Shards" ? "files" : "images");
    const std::string error = error_of([&] {
      make(name, {{"path", path}, {"size", "8192"}, {"stream", "false"}})->load(offline());
    });
    CHECK(error.starts_with("memory: " + path + ": its samples take "));
    CHECK(error.ends_with("that are free; give a smaller size, or stream: true"));
  }
}

TEST_CASE("where it is settled whether samples are streamed, the room is not asked") {
  const TempDir dir;
  write_images(dir, 20, 9);
  DataContext context = offline();
  const auto is_streamed = [&](const std::string& stream, bool settled, double room) {
    context.streams = settled;
    context.room = [room] { return room; };
    return make("ImageFolder", {{"path", dir / "images"}, {"stream", stream}})->load(context).train.reader != nullptr;
  };
  CHECK(is_streamed("auto", true, 1e12));
  CHECK_FALSE(is_streamed("auto", false, 1));
  CHECK(is_streamed("true", false, 1e12));
  CHECK_FALSE(is_streamed("false", true, 1));
}
