// What holds of every data set: headers tell what loading gives, labels name classes, a seed gives the same samples
// again, parameters read back as written. A data set without a case here fails.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "datasets/file.h"
#include "datasets/image_samples.h"
#include "datasets/shard_folder.h"
#include "image_support.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

struct Case {
  std::string name;
  Keys keys;
};

std::string lines(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text("name ", i, "\n");
  return out;
}

// A MATLAB file with IMAGES (4,2,1) of bytes.
std::string matlab_images() {
  std::string out(124, ' ');
  out += std::string("\0\1IM", 4) + std::string("\x0e\0\0\0\x48\0\0\0", 8);
  out += std::string("\6\0\0\0\x8\0\0\0\x9\0\0\0\0\0\0\0", 16);
  out += std::string("\5\0\0\0\xc\0\0\0\4\0\0\0\2\0\0\0\1\0\0\0\0\0\0\0", 24);
  out += std::string("\1\0\0\0\6\0\0\0IMAGES\0\0", 16);
  return out + std::string("\2\0\0\0\x8\0\0\0\1\2\3\4\5\6\7\x8", 16);
}

// Texts, and other sequences.
std::vector<Case> cases_of_sequences(const TempDir& dir) {
  dir.write("shakespeare/tinyshakespeare.txt", lines(10));
  dir.write("enwik8/enwik8", lines(40));
  dir.write("MOBYDICK/pg2701.txt", lines(80));
  std::string houses;
  for (int i = 0; i < 20 * 14; ++i) houses += text(i % 14 ? " " : "\n ", i, ".5");
  dir.write("Housing/housing.data", houses);
  dir.write("SPARSENET/IMAGES.mat", matlab_images());
  dir.write("ptb/ptb.train.txt", " to be or\n not to be \n");
  dir.write("ptb/ptb.valid.txt", " to be \n");
  dir.write("ptb/ptb.test.txt", " be not \n");
  for (const char* part : {"train", "test"})
    dir.write(text("tasks_1-20_v1-2/en/qa2_two_", part, ".txt"), "1 A b.\n2 Is b? \tyes\t1\n3 Is c? \tno\t1\n");
  for (const char* set : {"train", "test"})
    for (const char* label : {"good", "bad"})
      for (int i = 0; i < 3; ++i)
        dir.write(text("reviews/", set, "/", label, "/", i, ".txt"), text("a ", label, " text of words ", i));
  for (const char* set : {"train", "test"})
    for (const char* label : {"pos", "neg"})
      dir.write(text("aclImdb/", set, "/", label, "/1.txt"), text("a ", label, " review"));
  return {{"Text", {{"path", dir.write("a.txt", "a text of several words")}, {"steps", "4"}, {"validation", "0.3"}}},
          {"Tokens",
           {{"path", dir.write("a.bin", std::string("\0\0\3\0\1\0\2\0\3\0\1\0\0\0\1\0\2\0\1\0", 20))},
            {"steps", "3"},
            {"validation", "0.3"}}},
          {"Shakespeare", {{"steps", "4"}}},
          {"PTB", {{"steps", "2"}}},
          {"MobyDick", {{"steps", "4"}}},
          {"Housing", {}},
          {"SparseNet", {{"patch", "2"}}},
          {"HutterPrize", {{"steps", "4"}}},
          {"TextClasses", {{"path", dir / "reviews"}, {"steps", "3"}}},
          {"IMDB", {{"steps", "3"}}},
          {"BABI", {{"task", "2"}}},
          {"CopyTask", {{"length", "3"}, {"ntrain", "20"}, {"ntest", "5"}, {"validation", "5"}}},
          {"RepeatCopyTask", {{"length", "3"}, {"ntrain", "30"}, {"ntest", "5"}, {"validation", "5"}}},
          {"PrioritySortTask", {{"length", "3"}, {"ntrain", "30"}, {"ntest", "5"}, {"validation", "5"}}},
          {"Reversal", {{"length", "3"}, {"symbols", "4"}, {"ntrain", "40"}, {"ntest", "5"}, {"validation", "5"}}},
          {"SpokenDigits", {{"digits", "2"}, {"ntrain", "60"}, {"ntest", "5"}, {"validation", "10"}}},
          {"Lissajous", {{"steps", "4"}, {"ntrain", "20"}, {"ntest", "5"}, {"validation", "5"}}},
          {"Windows",
           {{"path", dir.write("series.csv", "a,b\n1,2\n2,4\n3,1\n4,7\n5,2\n6,3\n7,1\n8,9\n9,1\n1,0\n2,2\n2,3\n")},
            {"steps", "2"},
            {"validation", "0.25"},
            {"test", "0.25"}}},
          {"Sequences",
           {{"path", dir.write("walks.csv", "who,x,kind\na,1,0\nb,2,1\na,3,0\nc,4,0\nd,5,1\nd,1,1\ne,2,0\n")},
            {"id", "who"},
            {"target", "kind"},
            {"test", "0.4"}}}};
}

std::vector<Case> cases_of_others(const TempDir& dir) {
  const std::string table = dir.write("pets.csv", "weight,height,kind\n4,25,dog\n3,20,cat\n5,30,dog\n2,22,cat\n");
  for (const char* folder : {"mnist/", "fashion-mnist/"})
    for (const char* file :
         {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"})
      copy_file(golden(text("mnist/", file, ".gz")), dir / folder + file + ".gz");
  for (int kind : {0, 1, 2, 3})
    dir.write(text("pets/", kind % 2 ? "cat" : "dog", "/", kind, ".png"), png_of(picture(6, 9, 3, kind)));
  dir.write("pets/list.csv", "dog/0.png,dog\ncat/1.png,cat\ncat/3.png,cat\n");
  const auto pets = make("ImageFolder", {{"path", dir / "pets"}})->images(offline());
  if (!file_exists(dir / "shards/index.json")) pack_images(*pets, dir / "shards", {});
  const std::string pixels(3072, 'p');
  char label = 0;
  for (const char* batch :
       {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"})
    dir.write(text("cifar10/", batch, ".bin"), label++ + pixels);
  dir.write("cifar10/batches.meta.txt", lines(10));
  for (const char* set : {"train", "test"})
    dir.write(text("cifar100/", set, ".bin"), "\5\x0b" + pixels + "\6\7" + pixels);
  dir.write("cifar100/fine_label_names.txt", lines(100));
  return {{"Iris", {{"validation", "20"}}},
          {"CSV", {{"path", table}, {"test", "0.25"}}},
          {"UniformRandom", {{"ntrain", "40"}, {"ntest", "10"}, {"nin", "[2, 3]"}, {"nout", "4"}}},
          {"UniformRandom", {{"ntrain", "40"}, {"nin", "[3, 5, 7]"}, {"bytes", "true"}}},
          {"UniformRandom", {{"ntrain", "40"}, {"ntest", "10"}, {"nin", "6"}, {"tokens", "9"}, {"each_step", "true"}}},
          {"UniformRandom", {{"ntrain", "40"}, {"nin", "[6, 2]"}, {"nout", "3"}, {"each_step", "true"}}},
          {"UniformRandom", {{"ntrain", "40"}, {"nin", "[2, 3, 4]"}, {"nout", "3"}, {"each_pixel", "true"}}},
          {"Digits", {{"ntrain", "40"}, {"ntest", "10"}}},
          {"ToyImages", {{"ntrain", "40"}, {"ntest", "10"}}},
          {"ToyBoxes", {{"ntrain", "40"}, {"ntest", "10"}, {"validation", "5"}}},
          {"MNIST", {{"subset_pct", "50"}}},
          {"FashionMNIST", {}},
          {"CIFAR10", {{"validation", "2"}}},
          {"CIFAR100", {{"normalize", "false"}}},
          {"ImageFolder", {{"path", dir / "pets"}, {"size", "5"}, {"test", "0.25"}}},
          {"ImageFolder", {{"path", dir / "pets"}, {"size", "[4, 8]"}, {"test", "0.25"}}},
          {"BoxImages",
           {{"path", dir.write("pets/boxes.csv",
                               "image,x1,y1,x2,y2,class\ndog/0.png,1,1,4,5,dog\ncat/1.png,0,0,9,6,cat\n"
                               "dog/0.png,5,2,9,6,cat\ncat/3.png,,,,,\n")},
            {"size", "[5, 7]"}}},
          {"Shards", {{"path", dir / "shards"}, {"size", "[8, 6]"}}},
          {"Shards", {{"path", dir / "shards"}}},
          {"ImageList", {{"path", dir / "pets/list.csv"}}},
          {"NPY", {{"inputs", golden("version_1.npy")}, {"targets", golden("version_2.npy")}}},
          {"NPZ", {{"path", golden("stored.npz")}}},
          {"HDF5", {{"train", golden("train.h5")}, {"test", golden("test.h5")}}}};
}

std::vector<Case> cases(const TempDir& dir) {
  std::vector<Case> out = cases_of_others(dir), more = cases_of_sequences(dir);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

// NaN, which no number equals, as infinity.
std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> out = tensor.empty() ? std::vector<double>() : values(tensor);
  for (double& value : out)
    if (std::isnan(value)) value = HUGE_VAL;
  return out;
}

void check_split(const Split& split, const Data& data) {
  const bool padded = data.ragged && data.tokens == 0;  // by NaN
  for (double value : numbers(split.inputs)) REQUIRE((std::isfinite(value) || (padded && value > 0)));
  if (data.classes > 0)
    for (double label : numbers(split.targets)) {
      // -1: a step without a target, or what stands behind a sequence of labels or the boxes of an image
      const double least = data.label_of == LabelOf::sample || data.label_of == LabelOf::pixel ? 0 : -1;
      REQUIRE((label >= least && label < double(data.classes)));
    }
}

bool same(const Split& a, const Split& b) {
  return numbers(a.inputs) == numbers(b.inputs) && numbers(a.targets) == numbers(b.targets);
}

}  // namespace

TEST_CASE("every data set has a case") {
  const TempDir dir;
  std::set<std::string> tested;
  for (const Case& c : cases(dir)) tested.insert(c.name);
  for (const auto& entry : Registry<Dataset>::get().entries()) {
    INFO(entry->name << " needs a row of cases() in tests/datasets/every_set_test.cpp");
    CHECK(tested.erase(entry->name) == 1);
  }
  CHECK(tested == std::set<std::string>{});  // each case is of a registered set
}

TEST_CASE("a data set is what its headers say, and the same again for the same seed") {
  const TempDir dir;
  const Variable cache("NEON_CACHE_DIR", (dir / "cache").c_str());
  for (const Case& c : cases(dir)) {
    INFO(c.name);
    const auto set = make(c.name, c.keys);
    const DataContext context = offline(dir.path(), 5);
    const Data data = set->load(context), again = set->load(context);
    CHECK(data.train.size() > 0);
    CHECK(agrees(set->check(context), data));
    CHECK((data.class_names.empty() || int64_t(data.class_names.size()) == data.classes));
    for (const Split* split : {&data.train, &data.validation, &data.test}) check_split(*split, data);
    if (data.tokens > 0)
      for (const Split* split : {&data.train, &data.validation, &data.test})
        for (double token : numbers(split->inputs))
          REQUIRE((token >= (data.ragged ? -1 : 0) && token < double(data.tokens)));
    CHECK((same(data.train, again.train) && same(data.validation, again.validation) && same(data.test, again.test)));
  }
}

TEST_CASE("of any data set, the samples may be their own targets") {
  const TempDir dir;
  const Variable cache("NEON_CACHE_DIR", (dir / "cache").c_str());
  for (const Case& c : cases(dir)) {
    INFO(c.name);
    Keys keys = c.keys;
    keys.push_back({"autoencoder", "true"});
    const auto set = make(c.name, keys);
    const DataContext context = offline(dir.path(), 5);
    const Data labelled = make(c.name, c.keys)->load(context);
    if (labelled.tokens > 0) {
      CHECK(error_of([&] { set->load(context); }).starts_with("config: autoencoder: the samples of "));
      continue;
    }
    const Data data = set->load(context);
    CHECK(agrees(set->check(context), data));
    CHECK((data.classes == 0 && data.class_names.empty() && set->check(context).target.rank() == 0));
    const std::pair<const Split*, const Split*> splits[] = {
        {&data.train, &labelled.train}, {&data.validation, &labelled.validation}, {&data.test, &labelled.test}};
    for (const auto& [split, with_labels] : splits) {
      CHECK(split->targets.empty());
      CHECK(numbers(split->inputs) == numbers(with_labels->inputs));
    }
  }
}

TEST_CASE("a data set's parameters read back as written") {
  const TempDir dir;
  for (const Case& c : cases(dir)) {
    Problems problems;
    Setting first, second;
    Registry<Dataset>::get().create(object(c.name, c.keys), problems, &first);
    Registry<Dataset>::get().create(first, problems, &second);
    problems.throw_if_any();
    CHECK(first.to_string() == second.to_string());
  }
}
