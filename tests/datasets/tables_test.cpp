// Iris, CSV, NPY, NPZ and HDF5 as data sets.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "datasets/file.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

TEST_CASE("Iris has the moments of Fisher's data and splits evenly over its classes") {
  const auto set = make("Iris");
  const Data all = make("Iris", {{"test", "0"}})->load(offline());
  // Means and deviations (n - 1) as R prints them for its data set iris.
  const double mean[4] = {5.843333, 3.057333, 3.758, 1.199333},
               deviation[4] = {0.8280661, 0.4358663, 1.7652982, 0.7622377};
  for (int64_t j = 0; j < 4; ++j) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < 150; ++i) sum += all.train.inputs.at(i * 4 + j);
    for (int64_t i = 0; i < 150; ++i) squares += std::pow(all.train.inputs.at(i * 4 + j) - sum / 150, 2);
    CHECK(sum / 150 == Approx(mean[j]).margin(1e-6));
    CHECK(std::sqrt(squares / 149) == Approx(deviation[j]).margin(1e-6));
  }
  CHECK(values(all.train.inputs.rows(0, 1)) == std::vector<double>{5.1f, 3.5f, 1.4f, 0.2f});
  CHECK(values(all.train.inputs.rows(37, 1)) == std::vector<double>{4.9f, 3.6f, 1.4f, 0.1f});
  const Data data = set->load(offline("", 3));
  REQUIRE(data.train.size() == 120);
  REQUIRE(data.test.size() == 30);
  for (double label : {0.0, 1.0, 2.0}) {
    const auto test = values(data.test.targets);
    CHECK(std::count(test.begin(), test.end(), label) == 10);
  }
  CHECK(values(data.test.inputs) != values(set->load(offline("", 4)).test.inputs));
  CHECK(agrees(set->check(offline()), data));
}

TEST_CASE("the fixed parts of Iris are rows 0 to 29, 30 to 39 and 40 to 49 of each class") {
  const Data all = make("Iris", {{"test", "0"}})->load(offline());  // in the order of the paper
  const auto rows = [&](int64_t first, int64_t last) {
    std::vector<double> out;
    for (int64_t c = 0; c < 3; ++c)
      for (double value : values(all.train.inputs.rows(c * 50 + first, last - first))) out.push_back(value);
    return out;
  };
  for (uint64_t seed : {3, 4}) {
    const Data data = make("Iris", {{"fixed", "true"}})->load(offline("", seed));
    CHECK(values(data.train.inputs) == rows(0, 30));
    CHECK(values(data.validation.inputs) == rows(30, 40));
    CHECK(values(data.test.inputs) == rows(40, 50));
    CHECK(agrees(make("Iris", {{"fixed", "true"}})->check(offline()), data));
  }
  const auto shared = make("Iris", {{"fixed", "true"}, {"validation", "0.2"}});
  const Data data = shared->load(offline());
  CHECK((data.train.size() == 72 && data.validation.size() == 18));
  CHECK(values(data.test.inputs) == rows(40, 50));
  CHECK(agrees(shared->check(offline()), data));
  CHECK_THAT(error_of([] {
               make("Iris", {{"fixed", "true"}, {"test", "10"}});
             }),
             Catch::Contains("fixed and test are both given"));
}

TEST_CASE("a CSV file gives features and sorted class names") {
  TempDir dir;
  const std::string path = dir.write("pets.csv", "weight,height,kind\n4,25,dog\n3,\"20\",cat\n5,30,dog\n0.1,5,bird\n");
  const auto set = make("CSV", {{"path", path}, {"test", "0"}, {"standardize", "false"}});
  const Data data = set->load(offline());
  CHECK(data.class_names == std::vector<std::string>{"bird", "cat", "dog"});
  CHECK(values(data.train.targets) == std::vector<double>{2, 1, 2, 0});
  CHECK(values(data.train.inputs) == std::vector<double>{4, 25, 3, 20, 5, 30, double(0.1f), 5});
  CHECK(data.sample == Shape{2});
  CHECK(agrees(set->check(offline()), data));
  const Data by_height = make("CSV", {{"path", path},
                                      {"target", "height"},
                                      {"ignore", "[kind]"},
                                      {"task", "regression"},
                                      {"test", "0"},
                                      {"standardize", "false"}})
                             ->load(offline());
  CHECK(values(by_height.train.targets) == std::vector<double>{25, 20, 30, 5});
  CHECK(by_height.train.targets.shape() == Shape{4, 1});
  CHECK(by_height.classes == 0);
  CHECK(values(by_height.train.inputs) == std::vector<double>{4, 3, 5, double(0.1f)});
}

TEST_CASE("the header of a CSV file is found, or said") {
  TempDir dir;
  auto rows = [&](const std::string& content, Keys keys = {}) {
    keys.push_back({"path", dir.write("a.csv", content)});
    keys.push_back({"test", "0"});
    return make("CSV", keys)->load(offline()).train.size();
  };
  CHECK(rows("1,2,a\n3,4,b\n3,4,a\n") == 3);
  CHECK(rows("x,y,a\n3,4,b\n3,4,a\n", {{"header", "true"}}) == 2);
  CHECK(rows("x,y,z\n3,4,0\n3,4,1\n") == 2);
  CHECK(rows("1,2,0\n3,4,1\n") == 2);
  CHECK(rows("1,2,a\n3,4,b\n5,6,c\n", {{"header", "true"}}) == 2);
  CHECK(rows("1,2,a\n3,4,b\n5,6,c\n", {{"header", "false"}}) == 3);
  CHECK(rows("kind,x\na,1\nb,2\n", {{"target", "kind"}}) == 2);
  CHECK(rows("a,1\nb,2\na,3\n", {{"target", "0"}}) == 3);
  CHECK(rows("a;1\nb;2\na;3\n", {{"target", "0"}, {"delimiter", ";"}}) == 3);
  CHECK(rows("a\t1\nb\t2\na\t3\n", {{"target", "0"}, {"delimiter", "tab"}}) == 3);
}

TEST_CASE("what the target of a CSV file is, is never guessed") {
  TempDir dir;
  auto load = [&](const std::string& targets, const std::string& task) {
    std::string content;
    for (char c : targets) content.append("1,").append(1, c).append("\n");
    return make("CSV", {{"path", dir.write("a.csv", content)}, {"task", task}, {"test", "0"}})->load(offline());
  };
  CHECK(load("012210", "auto").classes == 3);
  CHECK(load("012210", "regression").classes == 0);
  CHECK_THAT(error_of([&] { load("357", "auto"); }),
             Catch::StartsWith("config: ") && Catch::Contains("3 different whole numbers from 3 to 7, not 0 to 2") &&
                 Catch::Contains("say task: classes or task: regression"));
  const Data quality = load("357735", "classes");
  CHECK(quality.class_names == std::vector<std::string>{"3", "5", "7"});
  CHECK(values(quality.train.targets) == std::vector<double>{0, 1, 2, 2, 0, 1});
  for (const char* const same : {"000", "555"})
    CHECK_THAT(error_of([&] { load(same, "auto"); }), Catch::Contains("there is only one class"));
  CHECK_THAT(error_of([&] { load("12a", "regression"); }),
             Catch::Contains("a.csv:3:3: the target: expected a number, found 'a'"));
}

TEST_CASE("what is wrong in a CSV file is said with file, line and column") {
  TempDir dir;
  auto error = [&](const std::string& content, Keys keys = {}) {
    keys.push_back({"path", dir.write("a.csv", content)});
    const std::string full = error_of([&] { make("CSV", keys)->load(offline()); });
    const size_t at = full.find("a.csv");
    return full.starts_with("config: ") ? full : full.substr(at);
  };
  const Keys refusing = {{"impute", "false"}}, numbers = {{"columns", "{y: number}"}};
  CHECK_THAT(error("x,y,k\n1,2,a\n3,,b\n", refusing),
             Catch::StartsWith("a.csv:3:3: column 'y': expected a number, found ''; fill in"));
  CHECK_THAT(error("x,y,k\nyes,2,a\nno,3,b\n,3,b\n", refusing),
             Catch::StartsWith("a.csv:4:1: column 'x': no value stands here, found ''; fill in"));
  CHECK_THAT(error("x,y,k\n1,2,a\n3,red,b\n", numbers),
             Catch::StartsWith("a.csv:3:3: column 'y': expected a number, found 'red'; mend the cell"));
  CHECK_THAT(error("x,y,k\n1,nan,a\n", refusing),
             Catch::StartsWith("a.csv:2:3: column 'y': expected a number, found 'nan'; fill in"));
  CHECK(error("x,y,k\n1,inf,a\n") ==
        "a.csv:2:3: column 'y': expected a number up to f32's largest, 3.4e38, found 'inf'");
  CHECK(error("x,y,k\n1,-1e39,a\n") ==
        "a.csv:2:3: column 'y': expected a number up to f32's largest, 3.4e38, found '-1e39'");
  CHECK(error("x,y\n1,2.5\n2,1e400\n3,1\n4,1\n5,1\n6,2\n", {{"task", "regression"}}) ==
        "a.csv:3:3: the target: expected a number up to f32's largest, 3.4e38, found '1e400'");
  // What is too small is 0, also where it decides whether there is a header, and what the target is.
  const std::string small = dir.write("a.csv", "1e-400,2,0.5\n1e-50,3,1e-400\n3,4,1.5\n4,5,2\n5,6,2.5\n6,7,3\n");
  const Data data = make("CSV", {{"path", small}})->load(offline());
  CHECK((data.train.size() + data.test.size() == 6 && data.classes == 0));
  CHECK_THAT(error("x,y,k\n1,0x10,a\n", numbers),
             Catch::StartsWith("a.csv:2:3: column 'y': expected a number, found '0x10'; mend the cell"));
  CHECK_THAT(error("x,y,k\n1,2,a\n3,4\n"), Catch::StartsWith("a.csv:3:3: this row has 2 cells, the first row 3"));
  // A text in a column of numbers comes from the missing cell.
  CHECK(error("x,y,k\n1,2,a\n3,b\n", numbers) == "a.csv:3:3: this row has 2 cells, the first row 3");
  CHECK_THAT(error("x,x,k\n1,2,a\n"), Catch::StartsWith("a.csv:1:3: two columns are named 'x'; rename one of them"));
  CHECK_THAT(error("x,y,k\n1,2,\n"), Catch::StartsWith("a.csv:2:5: the target is empty"));
  CHECK_THAT(error(""), Catch::StartsWith("a.csv: is empty"));
  CHECK_THAT(error("x,y,k\n"), Catch::StartsWith("a.csv: has no rows below its header"));
  CHECK(error("1\n2\n") == "a.csv: no columns are left beside the target; cells are separated by ',' (delimiter)");
  CHECK_THAT(error("hight,k\n1,a\n", {{"target", "height"}}),
             Catch::Contains("has no column 'height'; did you mean hight"));
  CHECK_THAT(error("1,2\n", {{"target", "5"}}), Catch::Contains("there is no column 5"));
  CHECK_THAT(error("1,2\n", {{"delimiter", "ab"}}), Catch::Contains("delimiter: 'ab' is not one character"));
  CHECK_THAT(error("1,0\n2,1\n", {{"test", "1.5"}}), Catch::Contains("test: 1.5 is neither a file nor a share"));
}

TEST_CASE("a CSV file is split by the seed, or tested on a second file with the same columns") {
  TempDir dir;
  std::string rows = "x,k\n";
  for (int i = 0; i < 100; ++i) rows += std::to_string(i) + (i % 2 ? ",odd\n" : ",even\n");
  const std::string path = dir.write("a.csv", rows);
  const auto set = make("CSV", {{"path", path}, {"test", "0.3"}, {"standardize", "false"}});
  const Data data = set->load(offline("", 5));
  CHECK(data.train.size() == 70);
  CHECK(data.test.size() == 30);
  double sum = 0;
  for (const Split* split : {&data.train, &data.test})
    for (int64_t i = 0; i < split->size(); ++i) {
      sum += split->inputs.at(i);
      CHECK(int(split->inputs.at(i)) % 2 == split->targets.at(i));
    }
  CHECK(sum == 4950);
  CHECK(values(set->load(offline("", 6)).test.inputs) != values(data.test.inputs));
  CHECK_THAT(
      error_of([&] {
        make("CSV", {{"path", path}, {"test", "0.004"}})->load(offline());
      }),
      Catch::Contains("100 rows are too few to test with 0.004 of them; add rows, give a second file as test, or "
                      "test: 0 to train with all"));
  auto with_test = [&](const std::string& content) {
    return make("CSV", {{"path", path}, {"test", dir.write("test.csv", content)}})->load(offline());
  };
  CHECK(values(with_test("x,k\n7,odd\n").test.targets) == std::vector<double>{1});
  CHECK_THAT(error_of([&] { with_test("x,k\n7,odd\n8,evn\n"); }),
             Catch::Contains("test.csv:3:3: class 'evn' is not one of the training file's; did you mean even"));
  CHECK_THAT(error_of([&] { with_test("y,k\n7,odd\n"); }), Catch::Contains("its columns are not those of"));
}

TEST_CASE("NPZ and NPY data sets have inputs, labels and shapes of their arrays") {
  const Data data = make("NPZ", {{"path", golden("deflated.npz")}})->load(offline());
  CHECK(data.train.inputs.dtype() == DType::u8);
  CHECK(data.sample == Shape{2, 3});
  CHECK(data.classes == 3);
  CHECK(values(data.train.targets) == std::vector<double>{0, 2, 1, 0, 2, 1});
  CHECK(data.test.size() == 2);
  const auto shaped =
      make("NPZ", {{"path", golden("stored.npz")}, {"lshape", "[3, 1, 2]"}, {"classes", "5"}, {"scale", "0.5"}});
  const Data with_shape = shaped->load(offline());
  CHECK(with_shape.sample == Shape{3, 1, 2});
  CHECK(with_shape.classes == 5);
  CHECK(with_shape.scale == 0.5f);
  CHECK(agrees(shaped->check(offline()), with_shape));
  CHECK(agrees(make("NPZ", {{"path", golden("stored.npz")}})->check(offline()),
               make("NPZ", {{"path", golden("stored.npz")}})->load(offline())));
  const auto values_set = make("NPZ", {{"path", golden("stored.npz")}, {"regression", "true"}});
  CHECK(values_set->load(offline()).train.targets.dtype() == DType::f32);
  CHECK(values_set->load(offline()).classes == 0);
  const Data own = make("NPZ", {{"path", golden("stored.npz")}, {"y_train", ""}, {"y_test", ""}})->load(offline());
  CHECK(own.train.targets.empty());
  // (5, 2) floats, and Fortran-ordered integers as values.
  const auto npy = make("NPY", {{"inputs", golden("version_1.npy")}, {"targets", golden("version_2.npy")}});
  const Data floats = npy->load(offline());
  CHECK(floats.train.targets.shape() == Shape{5, 2});
  CHECK(floats.classes == 0);
  CHECK(agrees(npy->check(offline()), floats));
}

TEST_CASE("arrays that do not fit one another are errors") {
  auto error = [](const Keys& keys) { return error_of([&] { make("NPZ", keys)->load(offline()); }); };
  CHECK_THAT(error({{"path", golden("stored.npz")}, {"y_train", "y_test"}}),
             Catch::EndsWith("stored.npz: y_test: has shape (2), but " + golden("stored.npz") +
                             ": x_train has 6 samples: expected (6) or (6, ...)"));
  CHECK_THAT(error({{"path", golden("stored.npz")}, {"y_train", "labels"}}), Catch::Contains("has no array 'labels'"));
  CHECK_THAT(error({{"path", golden("stored.npz")}, {"classes", "2"}}),
             Catch::Contains("stored.npz: y_train: label 1 is 2: with 2 classes"));
  CHECK_THAT(error({{"path", golden("stored.npz")}, {"lshape", "[4, 2]"}}),
             Catch::StartsWith("config: lshape: (4, 2) has 8 elements, a sample of"));
  CHECK_THAT(error({{"path", golden("stored.npz")}, {"x_train", "y_train"}}),
             Catch::Contains("expected a row of features"));
  CHECK_THAT(error_of([] {
               make("NPY", {{"inputs", golden("empty.npy")}})->load(offline());
             }),
             Catch::Contains("nothing to train with"));
  CHECK_THAT(error_of([] {
               make("NPY", {{"inputs", "none.npy"}})->load(offline());
             }),
             Catch::StartsWith("data: none.npy: no such file"));
  const DataCheck check = make("NPY", {{"inputs", "none.npy"}})->check(offline());
  CHECK_FALSE(check.found);
  CHECK_THAT(check.missing, Catch::Contains("none.npy"));
}

// Where element i of samples (2,2,3) in a file lies in memory, channels last.
int64_t turned(int64_t i) { return i / 12 * 12 + i % 6 * 2 + i / 6 % 2; }

TEST_CASE("HDF5 files as for HDF5Iterator are read: lshape, nclass, mean, chunks") {
  const auto set = make("HDF5Iterator", {{"hdf_filename", golden("train.h5")}, {"test", golden("test.h5")}});
  const Data data = set->load(offline());
  CHECK(data.train.inputs.dtype() == DType::u8);
  CHECK(data.sample == Shape{2, 2, 3});
  CHECK(data.classes == 3);
  CHECK(values(data.train.targets) == std::vector<double>{0, 2, 1, 0});
  CHECK(data.test.size() == 2);
  CHECK(data.train.inputs.shape() == Shape{4, 2, 3, 2});
  for (int64_t i = 0; i < 48; ++i) CHECK(data.train.inputs.at(turned(i)) == double(uint8_t(7 * i + 3)));
  CHECK(agrees(set->check(offline()), data));
  CHECK(values(make("HDF5", {{"train", golden("chunked.h5")}})->load(offline()).train.inputs) ==
        values(data.train.inputs));
  const auto regression = make("HDF5", {{"train", golden("regression.h5")}});
  const Data real = regression->load(offline());
  CHECK(real.train.inputs.dtype() == DType::f32);
  CHECK(real.train.inputs.at(turned(5)) == 0.25);
  CHECK(real.train.targets.shape() == Shape{4, 2});
  CHECK(real.train.targets.at(3) == -0.25);
  CHECK(real.classes == 0);
  CHECK(agrees(regression->check(offline()), real));
  CHECK(make("HDF5", {{"train", golden("autoencoder.h5")}})->load(offline()).train.targets.empty());
  const Data channel = make("HDF5", {{"train", golden("channel_mean.h5")}})->load(offline());
  const Data full = make("HDF5", {{"train", golden("full_mean.h5")}})->load(offline());
  for (int64_t i = 0; i < 48; ++i) {
    CHECK(channel.train.inputs.at(turned(i)) == double(uint8_t(7 * i + 3)) - (i % 12 < 6 ? 1 : 2));
    CHECK(full.train.inputs.at(turned(i)) == double(uint8_t(7 * i + 3)) - double(i % 12));
  }
  std::vector<std::string> warnings;
  DataContext warned = offline();
  warned.warnings = &warnings;
  set->load(warned);
  CHECK(warnings.empty());
  make("HDF5", {{"train", golden("channel_mean.h5")}, {"test", golden("test.h5")}})->load(warned);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("test.h5: has no 'mean', ") && Catch::Contains("channel_mean.h5 has one"));
  CHECK(data.subtracted.empty());
  CHECK(channel.subtracted == std::vector<double>{1, 2});
  CHECK(full.subtracted == std::vector<double>{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11});
}

TEST_CASE("images in a file may have their channels last, and so has its mean") {
  const Keys keys = {{"channels_last", "true"}, {"lshape", "[2, 3, 2]"}};
  for (const char* file : {"train.h5", "channel_mean.h5", "full_mean.h5"}) {
    Keys all = keys;
    all.push_back({"train", golden(file)});
    const auto set = make("HDF5", all);
    const Data data = set->load(offline());
    CHECK(agrees(set->check(offline()), data));
    CHECK((data.sample == Shape{2, 3, 2} && data.train.inputs.shape() == Shape{4, 3, 2, 2}));
    for (int64_t i = 0; i < 48; ++i) {
      const double mean = file[0] == 't' ? 0 : file[0] == 'f' ? double(i % 12) : i % 2 ? 2 : 1;
      CHECK(data.train.inputs.at(i) == double(uint8_t(7 * i + 3)) - mean);
      if (file[0] != 't') CHECK(data.subtracted[size_t(i) % data.subtracted.size()] == mean);
    }
  }
  CHECK_THAT(
      error_of([&] {
        make("HDF5", {{"train", golden("train.h5")}, {"channels_last", "true"}, {"lshape", "[12]"}})->load(offline());
      }),
      Catch::StartsWith("config: channels_last: is for images, a sample of ") && Catch::Contains("is (12)"));
}

TEST_CASE("HDF5 files that are wrong or reach outside themselves are data errors") {
  auto error = [](const std::string& file) {
    return error_of([&] { make("HDF5", {{"train", file}})->load(offline()); });
  };
  CHECK_THAT(error(golden("bad_label.h5")), Catch::Contains("bad_label.h5: output: label 1 is 2: with 2 classes"));
  CHECK_THAT(error(golden("link.h5")), Catch::Contains("'input' is a link to another place"));
  CHECK_THAT(error(golden("external.h5")), Catch::Contains("keeps its elements in other files"));
  CHECK_THAT(error(golden("unwritten.h5")),
             Catch::StartsWith("memory: ") &&
                 Catch::Contains("unwritten.h5: input: has shape (1073741824, 1048576): it takes"));
  CHECK_THAT(error(golden("rows.h5")),
             Catch::EndsWith("rows.h5: output: has shape (104857600), but " + golden("rows.h5") +
                             ": input has 4 samples: expected (4) or (4, ...)"));
  CHECK_THAT(error(golden("u1.idx")), Catch::Contains("not an HDF5 file"));
  TempDir dir;
  const std::string whole = read_file(golden("chunked.h5"));
  for (size_t size = 0; size < whole.size(); size += 37) {
    const std::string path = dir.write("cut.h5", whole.substr(0, size));
    INFO(size);
    CHECK_THAT(error(path), Catch::StartsWith("data: " + path));
  }
}

TEST_CASE("HDF5 files of bools, of elements never written, and of every filter of the library are read") {
  const auto load = [](const char* file, Keys keys = {}) {
    keys.push_back({"train", golden(file)});
    const auto set = make("HDF5", keys);
    const Data data = set->load(offline());
    CHECK(agrees(set->check(offline()), data));
    return data;
  };
  const Data bools = load("bool.h5");
  CHECK(bools.train.inputs.dtype() == DType::u8);
  for (int64_t i = 0; i < 48; ++i) CHECK(bools.train.inputs.at(i) == (i % 3 == 0));
  CHECK(bools.classes == 2);
  CHECK(values(bools.train.targets) == std::vector<double>{1, 0, 0, 1});
  const Data fill = load("fill.h5");
  for (int64_t i = 0; i < 48; ++i) CHECK(fill.train.inputs.at(i) == 0.5);
  for (int64_t i = 0; i < 24; ++i) CHECK(fill.train.targets.at(i) == (i < 12 ? 0.25 * double(i) - 1 : -2));
  const Data offset = load("scaleoffset.h5", {{"regression", "true"}});
  for (int64_t i = 0; i < 48; ++i) CHECK(offset.train.inputs.at(i) == double(7 * i - 20));
  CHECK(values(offset.train.targets) == std::vector<double>{7, 7, 7, 7});
  const Data constant = load("constant.h5");
  CHECK(constant.train.size() == 50000);
  CHECK(constant.train.inputs.at(599999) == 3);
}

TEST_CASE("one-hot targets are classes, in every reader of arrays") {
  const auto set = make("HDF5", {{"train", golden("one_hot.h5")}});
  const Data data = set->load(offline());
  CHECK(data.classes == 3);
  CHECK(data.train.targets.dtype() == DType::i32);
  CHECK(values(data.train.targets) == std::vector<double>{0, 2, 1, 0});
  CHECK(agrees(set->check(offline()), data));
  const Data as_values = make("HDF5", {{"train", golden("one_hot.h5")}, {"regression", "true"}})->load(offline());
  CHECK(as_values.classes == 0);
  CHECK(as_values.train.targets.shape() == Shape{4, 3});
  DataContext old = offline();
  old.rules = 1;
  CHECK(set->load(old).classes == 0);
  CHECK(make("HDF5", {{"train", golden("regression.h5")}})->load(offline()).classes == 0);
}

TEST_CASE("labels of arrays that are not 0 to k - 1 are asked about") {
  const auto error = [](Keys keys) {
    keys.push_back({"train", golden("from_one.h5")});
    return error_of([&] { make("HDF5", keys)->load(offline()); });
  };
  const std::string asked =
      "config: " + golden("from_one.h5") +
      ": output: its labels are 3 different whole numbers from 1 to 3, not 0 to 2: say classes: 4 "
      "where some have no sample, regression: true for values, or number them from 0";
  CHECK(error({}) == asked);
  CHECK(error_of([] { make("HDF5", {{"train", golden("from_one.h5")}})->check(offline()); }) == asked);
  CHECK(error({{"classes", "4"}}) == "no error");
  CHECK(error({{"regression", "true"}}) == "no error");
}
