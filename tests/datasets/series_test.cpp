// Time series as windows, and the rows of one id as a sequence, against their definitions.
#include <hdf5.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

// Row i of a series of three columns.
double number_of(int64_t row, int64_t column) { return double((row * row * (column + 2) + 7 * row) % 23) - 4; }

std::string table_of(int64_t rows, bool header = true) {
  std::string out = header ? "day,x,y,z\n" : "";
  for (int64_t i = 0; i < rows; ++i)
    out += text("day ", i, ",", number_of(i, 0), ",", number_of(i, 1), ",", number_of(i, 2), "\n");
  return out;
}

std::string npy_of(int64_t rows) {
  std::string head = text("{'descr': '<f8', 'fortran_order': False, 'shape': (", rows, ", 3), }");
  head += std::string(117 - head.size(), ' ') + "\n";
  std::string out = std::string("\x93NUMPY\1\0", 8) + char(head.size()) + '\0' + head;
  for (int64_t i = 0; i < 3 * rows; ++i) {
    const double value = number_of(i / 3, i % 3);
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return out;
}

void write_hdf5(const std::string& path, int64_t rows) {
  std::vector<double> values;
  for (int64_t i = 0; i < 3 * rows; ++i) values.push_back(number_of(i / 3, i % 3));
  const hsize_t sizes[] = {hsize_t(rows), 3};
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
              space = H5Screate_simple(2, sizes, nullptr),
              set = H5Dcreate2(file, "series", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Dclose(set), H5Sclose(space), H5Fclose(file);
}

Data windows(const Keys& keys) {
  const auto set = make("Windows", keys);
  const Data out = set->load(offline());
  CHECK(agrees(set->check(offline()), out));
  return out;
}

std::string refused(const std::string& set, const Keys& keys) {
  return error_of([&] { make(set, keys)->load(offline()); });
}

// The windows of rows [first, first + rows): 4 steps of x and z, a new one every 3 rows, and 2 rows of y behind them.
void check_windows(const Split& split, int64_t first, int64_t rows) {
  const int64_t n = (rows - 6) / 3 + 1;
  REQUIRE(split.inputs.shape() == Shape{n, 4, 2});
  REQUIRE(split.targets.shape() == Shape{n, 2});
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t t = 0; t < 4; ++t) {
      CHECK(split.inputs.at((i * 4 + t) * 2) == number_of(first + 3 * i + t, 0));
      CHECK(split.inputs.at((i * 4 + t) * 2 + 1) == number_of(first + 3 * i + t, 2));
    }
    for (int64_t h = 0; h < 2; ++h) CHECK(split.targets.at(i * 2 + h) == number_of(first + 3 * i + 4 + h, 1));
  }
}

}  // namespace

TEST_CASE("windows of a series and the rows behind them, of any kind of file") {
  const TempDir dir;
  write_hdf5(dir / "a.h5", 60);
  const Keys common = {{"steps", "4"},           {"horizon", "2"}, {"stride", "3"},
                       {"standardize", "false"}, {"test", "0.2"},  {"validation", "0.25"}};
  for (const Keys& own : {Keys{{"path", dir.write("a.csv", table_of(60))}, {"columns", "[x, z]"}, {"targets", "[y]"}},
                          {{"path", dir.write("b.csv", table_of(60, false))}, {"ignore", "[0, 2]"}, {"targets", "[2]"}},
                          {{"path", dir.write("a.npy", npy_of(60))}, {"columns", "[0, 2]"}, {"targets", "[1]"}},
                          {{"path", dir / "a.h5"}, {"array", "series"}, {"columns", "[0, 2]"}, {"targets", "[1]"}}}) {
    INFO(own[0].second);
    Keys keys = common;
    keys.insert(keys.end(), own.begin(), own.end());
    const Data data = windows(keys);
    CHECK((data.sequence && !data.ragged && data.sample == Shape{4, 2} && data.classes == 0));
    // 12 of 60 rows for the test, 15 before them for validation.
    check_windows(data.train, 0, 33);
    check_windows(data.validation, 33, 15);
    check_windows(data.test, 48, 12);
    if (own[0].second.ends_with("a.csv")) CHECK(data.target_names == std::vector<std::string>{"y +1", "y +2"});
  }
}

TEST_CASE("a target for each step of a window; all columns by themselves") {
  const TempDir dir;
  const Data data = windows({{"path", dir.write("a.npy", npy_of(40))},
                             {"steps", "5"},
                             {"horizon", "2"},
                             {"each_step", "true"},
                             {"standardize", "false"},
                             {"test", "0"}});
  REQUIRE(data.train.targets.shape() == Shape{34, 5, 3});
  for (int64_t i = 0; i < 34; ++i)
    for (int64_t t = 0; t < 5; ++t)
      for (int64_t c = 0; c < 3; ++c) {
        CHECK(data.train.inputs.at((i * 5 + t) * 3 + c) == number_of(i + t, c));
        CHECK(data.train.targets.at((i * 5 + t) * 3 + c) == number_of(i + t + 2, c));
      }
}

TEST_CASE("columns have mean 0 and deviation 1 on the training rows, by which the others are measured") {
  const TempDir dir;
  const Data data = windows({{"path", dir.write("a.csv", table_of(50))},
                             {"ignore", "[day]"},
                             {"targets", "[z]"},
                             {"steps", "1"},
                             {"validation", "3"},
                             {"test", "0.2"}});
  // 10 of 50 rows for the test; 3 windows of 1 row and the row behind it take 4.
  CHECK((data.train.size() == 35 && data.validation.size() == 3 && data.test.size() == 9));
  for (int64_t c = 0; c < 3; ++c) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < 36; ++i) mean += number_of(i, c) / 36;
    for (int64_t i = 0; i < 36; ++i) variance += std::pow(number_of(i, c) - mean, 2) / 36;
    CHECK(data.standard.means[size_t(c)] == Approx(mean));
    CHECK(data.standard.deviations[size_t(c)] == Approx(std::sqrt(variance)));
    for (int64_t i = 0; i < 35; ++i)
      CHECK(data.train.inputs.at(i * 3 + c) == Approx((number_of(i, c) - mean) / std::sqrt(variance)).margin(1e-6));
    for (int64_t i = 0; i < 9; ++i)
      CHECK(data.test.inputs.at(i * 3 + c) == Approx((number_of(40 + i, c) - mean) / std::sqrt(variance)).margin(1e-6));
    if (c < 2) continue;
    CHECK((data.target_standard.means[0] == Approx(mean) && data.target_names == std::vector<std::string>{"z"}));
    CHECK(data.train.targets.at(3) == Approx((number_of(4, 2) - mean) / std::sqrt(variance)).margin(1e-6));
  }
  // A column whose numbers are alike stays at 0.
  const Data flat = windows({{"path", dir.write("b.csv", "5,1\n5,2\n5,3\n5,5\n")}, {"steps", "1"}, {"test", "0"}});
  CHECK((flat.train.inputs.at(0) == 0 && flat.standard.deviations[0] == 1));
}

TEST_CASE("series that give no windows") {
  const TempDir dir;
  const std::string series = dir.write("a.csv", table_of(20)), gap = dir.write("gap.csv", "x,y\n1,2\n3,\n4,5\n"),
                    bare = dir.write("bare.csv", "1,2\n2,3\n3,5\n"), array = dir.write("a.npy", npy_of(20)),
                    short_row = dir.write("short.csv", "1,2\n2\n"), mixed = dir.write("mixed.csv", "x,1\n1,2\n");
  CHECK(refused("Windows", {{"path", series}, {"steps", "4"}}) ==
        "data: " + series +
            ":2:1: column 'day': expected a number, found 'day 0'; a column of text can be left out with "
            "ignore");
  CHECK(refused("Windows", {{"path", series}, {"ignore", "[day]"}, {"steps", "16"}}) ==
        "config: " + series + ": of its 20 rows, 16 are left for the training part; a sample and its targets take 17");
  CHECK(refused("Windows", {{"path", series}, {"ignore", "[day]"}, {"steps", "3"}, {"validation", "0.1"}}) ==
        "config: " + series + ": of its 20 rows, 2 are left for the validation part; a sample and its targets take 4");
  CHECK(refused("Windows", {{"path", series}, {"ignore", "[day]"}, {"steps", "3"}, {"validation", "0.05"}}) ==
        "config: " + series + ": of its 20 rows, 1 is left for the validation part; a sample and its targets take 4");
  CHECK(refused("Windows", {{"path", series}, {"columns", "[w]"}}) ==
        "config: columns: " + series + " has no column 'w' (it has 'day', 'x', 'y', 'z')");
  CHECK(refused("Windows", {{"path", series}, {"columns", "[x]"}, {"ignore", "[x]"}}) ==
        "config: columns: 'x' is to be ignored, too; leave it out of one of them");
  CHECK(refused("Windows", {{"path", series}, {"columns", "[x, x]"}}) == "config: columns: column 'x' is named twice");
  CHECK(refused("Windows", {{"path", gap}, {"steps", "1"}}).find("gap.csv:3:") != std::string::npos);
  CHECK(refused("Windows", {{"path", bare}, {"targets", "[2]"}}) ==
        "config: targets: there is no column 2: " + bare + " has columns 0 to 1");
  CHECK(refused("Windows", {{"path", array}, {"targets", "[3]"}}) ==
        "config: targets: '3' is no column of " + array + ", which has 0 to 2");
  CHECK(refused("Windows", {{"path", array}, {"columns", "[0, 0]"}}) == "config: columns: column '0' is named twice");
  CHECK(refused("Windows", {{"path", array}, {"targets", "[1, 1]"}}) == "config: targets: column '1' is named twice");
  CHECK(refused("Windows", {{"path", array}, {"columns", "[0, 1]"}, {"ignore", "[1]"}}) ==
        "config: columns: 1 is to be ignored, too; leave it out of one of them");
  CHECK(refused("Windows", {{"path", short_row}}) ==
        "data: " + short_row + ":2:1: this row has 1 cell, the first row 2");
  CHECK(refused("Windows", {{"path", mixed}}) ==
        "config: " + mixed +
            ":1:1: this line may name the columns or be a sample: some of its cells are numbers, "
            "some texts; say header: true or header: false");
  CHECK(refused("Windows", {{"path", series}, {"test", "1"}}) == "config: test: 1 is no share from 0 to below 1");
}

TEST_CASE("numbers of a series that f32 has only in coarse steps are a warning") {
  const TempDir dir;
  std::string times = "id,time,t\n";
  for (int64_t i = 0; i < 20; ++i) times += text("s", i / 2, ",", 1'700'000'000'000 + i * 100'000, ",", i / 2, ".5\n");
  const std::string table = dir.write("a.csv", times);
  const auto warning = [&](const std::string& set, const Keys& keys) {
    std::vector<std::string> warnings;
    DataContext context = offline();
    context.warnings = &warnings;
    make(set, keys)->load(context);
    return join(warnings, "\n");
  };
  for (const std::string& said : {warning("Windows", {{"path", table}, {"ignore", "[id]"}, {"steps", "2"}}),
                                  warning("Sequences", {{"path", table}, {"id", "id"}, {"target", "t"}})}) {
    CHECK(said.starts_with(table + ": column 'time': f32 has numbers around 1.7"));
    CHECK(said.ends_with("e+12 only in steps of 131072; subtract one of them from all"));
  }
  CHECK(warning("Windows", {{"path", table}, {"columns", "[t]"}, {"steps", "2"}}) == "");
}

TEST_CASE("numbers of an array that f32 has only in coarse steps are a warning") {
  const TempDir dir;
  const auto array_of = [&](const std::string& name, const std::string& type, const std::string& shape, auto first,
                            int64_t count) {
    std::string head = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    head += std::string(117 - head.size(), ' ') + "\n";
    std::string out = std::string("\x93NUMPY\1\0", 8) + char(head.size()) + '\0' + head;
    for (int64_t i = 0; i < count; ++i) {
      const auto value = i % 2 == 0 ? first + decltype(first)(i) : decltype(first)(i);
      out.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    return dir.write(name, out);
  };
  const auto warning = [](const Keys& keys) {
    std::vector<std::string> warnings;
    DataContext context = offline();
    context.warnings = &warnings;
    make("NPY", keys)->load(context);
    return join(warnings, "\n");
  };
  const std::string times = array_of("x.npy", "<f8", "10, 2", 1.7e9, 20),
                    small = array_of("y.npy", "<f8", "10, 2", 2.0, 20),
                    whole = array_of("w.npy", "<i8", "10, 2", int64_t(1) << 40, 20);
  CHECK(warning({{"inputs", times}}) ==
        times +
            ": column 0: f32 has numbers around 1.7e+09 only in steps of 128, and all are one; subtract one of them "
            "from all");
  CHECK_THAT(warning({{"inputs", small}, {"targets", times}}), Catch::StartsWith(times + ": column 0: f32 has"));
  CHECK_THAT(warning({{"inputs", whole}}),
             Catch::StartsWith(whole + ": column 0: f32 has numbers around 1099511627776 only"));
  // Numbers beyond f32 are an error alone.
  std::vector<std::string> warnings;
  DataContext context = offline();
  context.warnings = &warnings;
  const std::string beyond = array_of("b.npy", "<f8", "10, 2", 1e300, 20);
  CHECK_THAT(error_of([&] { make("NPY", {{"inputs", beyond}})->load(context); }), Catch::Contains("expected finite"));
  CHECK(warnings.empty());
  CHECK(warning({{"inputs", small}, {"targets", small}}) == "");
}

TEST_CASE("the rows of one id are a sequence") {
  const TempDir dir;
  const std::string path = dir.write(
      "walks.csv", "who,x,y,kind\nb,1,10,slow\na,2,20,fast\nb,3,30,slow\nc,4,40,slow\nb,5,50,slow\na,6,60,fast\n");
  const Keys keys = {{"path", path}, {"id", "who"}, {"target", "kind"}, {"test", "0"}, {"standardize", "false"}};
  const auto set = make("Sequences", keys);
  const Data data = set->load(offline());
  CHECK(agrees(set->check(offline()), data));
  CHECK((data.ragged && data.sequence && data.label_of == LabelOf::sample && data.table.id == "who"));
  CHECK((data.class_names == std::vector<std::string>{"fast", "slow"} &&
         data.table.features == std::vector<std::string>{"x", "y"}));
  REQUIRE(data.train.inputs.shape() == Shape{3, 3, 2});
  const double nan = std::nan("");
  const double wanted[] = {1, 10, 3, 30, 5, 50, 2, 20, 6, 60, nan, nan, 4, 40, nan, nan, nan, nan};
  for (int64_t i = 0; i < 18; ++i)
    CHECK((data.train.inputs.at(i) == wanted[i] || (std::isnan(wanted[i]) && std::isnan(data.train.inputs.at(i)))));
  CHECK(values(data.train.targets) == std::vector<double>{1, 0, 1});

  Keys standard = keys;
  standard.back().second = "true";
  const Data measured = make("Sequences", standard)->load(offline());
  // Of 1 to 6 the mean is 3.5 and the variance 35/12.
  CHECK(measured.train.inputs.at(0) == Approx((1 - 3.5) / std::sqrt(35.0 / 12)));
  CHECK(measured.train.inputs.at(1) == Approx((1 - 3.5) / std::sqrt(35.0 / 12)));

  Keys shorter = keys;
  shorter.push_back({"steps", "2"});
  std::vector<std::string> warnings;
  DataContext context = offline();
  context.warnings = &warnings;
  CHECK(make("Sequences", shorter)->load(context).train.inputs.shape() == Shape{3, 2, 2});
  CHECK(warnings == std::vector<std::string>{path + ": 1 sequence is longer than 2 rows, and its end is left out"});
}

TEST_CASE("targets of sequences: numbers, and a class for each row") {
  const TempDir dir;
  const Data values_of =
      make("Sequences",
           {{"path", dir.write("a.csv", "1,5,0.5\n2,6,1.5\n1,7,0.5\n")}, {"id", "0"}, {"target", "2"}, {"test", "0"}})
          ->load(offline());
  // 0.5 and 1.5 have the mean 1 and the deviation 0.5.
  CHECK((values_of.classes == 0 && values(values_of.train.targets) == std::vector<double>{-1, 1}));
  CHECK((values_of.target_standard.means == std::vector{1.0} &&
         values_of.target_standard.deviations == std::vector{0.5}));
  const std::string steps = dir.write("b.csv", "a,5,up\nb,6,up\na,7,down\nc,1,down\n");
  const Data each =
      make("Sequences", {{"path", steps}, {"id", "0"}, {"target", "2"}, {"each_step", "true"}, {"test", "0.34"}})
          ->load(offline());
  CHECK((each.label_of == LabelOf::step && each.train.size() == 2 && each.test.size() == 1));
  std::vector<double> labels = values(each.train.targets);
  for (const double label : values(each.test.targets)) labels.push_back(label);
  std::ranges::sort(labels);
  CHECK(labels == std::vector<double>{-1, -1, 0, 0, 1, 1});
  CHECK(refused("Sequences", {{"path", steps}, {"id", "0"}, {"target", "2"}}) ==
        "data: " + steps +
            ":3:1: the target is 'down', but that of an earlier row of 'a' is 'up'; each_step: true takes "
            "a target for each row");
  CHECK(refused("Sequences", {{"path", steps}, {"id", "who"}, {"target", "2"}}) ==
        "config: id or target: " + steps + " has no column 'who' (it has 'a', '5', 'up')");
  const Data numbers = make("Sequences", {{"path", dir.write("d.csv", "1,5,0.5\n2,6,1.5\n1,7,2.5\n")},
                                          {"id", "0"},
                                          {"target", "2"},
                                          {"each_step", "true"},
                                          {"standardize", "false"},
                                          {"test", "0"}})
                           ->load(offline());
  CHECK((numbers.classes == 0 && numbers.train.targets.shape() == Shape{2, 2, 1}));
  CHECK(values(numbers.train.targets) == std::vector<double>{0.5, 2.5, 1.5, 0});
  // The steps that are there, 0.5, 2.5 and 1.5, have the mean 1.5.
  const Data brought =
      make("Sequences", {{"path", dir / "d.csv"}, {"id", "0"}, {"target", "2"}, {"each_step", "true"}, {"test", "0"}})
          ->load(offline());
  const double deviation = std::sqrt(2.0 / 3);
  const std::vector<double> targets = values(brought.train.targets);
  for (const auto& [place, number] : {std::pair(0, 0.5), {1, 2.5}, {2, 1.5}})
    CHECK(targets[size_t(place)] == Approx((number - 1.5) / deviation));
  const std::string other = dir.write("c.csv", "z,5,left\n");
  CHECK(refused("Sequences", {{"path", steps}, {"id", "0"}, {"target", "2"}, {"each_step", "true"}, {"test", other}}) ==
        "data: " + other + ":1:1: class 'left' is not one of the training file's");
}

TEST_CASE("a series is brought to the numbers of the net that goes on") {
  const TempDir dir;
  DataContext context = offline();
  context.standard = Standard{{10, 100}, {2, 4}};
  context.target_standard = Standard{{1}, {8}};
  const Keys keys = {{"id", "0"}, {"target", "3"}, {"test", "0"}};
  Keys of_file = keys;
  of_file.push_back({"path", dir.write("a.csv", "1,12,100,0.5\n2,6,104,9.5\n")});
  const Data data = make("Sequences", of_file)->load(context);
  CHECK(values(data.train.inputs) == std::vector<double>{1, 0, -2, 1});
  CHECK(values(data.train.targets) == std::vector<double>{-0.0625, 1.0625});
  CHECK((data.standard == *context.standard && data.target_standard == *context.target_standard));
  context.rules = 4;  // of nets that were trained before targets were
  CHECK(values(make("Sequences", of_file)->load(context).train.targets) == std::vector<double>{0.5, 9.5});
  context.standard = Standard{{10}, {2}};
  CHECK_THAT(error_of([&] { make("Sequences", of_file)->load(context); }),
             Catch::Contains("a.csv: has 2 columns that the net would know the mean of, and the net knows 1"));

  const std::string series = dir.write("w.csv", "12\n14\n10\n6\n");
  context.target_standard = context.standard;
  const Data windows = make("Windows", {{"path", series}, {"steps", "2"}, {"test", "0"}})->load(context);
  CHECK(values(windows.train.inputs) == std::vector<double>{1, 2, 2, 0});
  CHECK(values(windows.train.targets) == std::vector<double>{0, -2});
  CHECK((windows.standard == *context.standard && windows.target_standard == *context.standard));
}

TEST_CASE("whole numbers beside arrays of sequences are classes of steps; a run that had values keeps them") {
  const TempDir dir;
  const auto array_of = [&](const std::string& name, const std::string& type, const std::string& shape, auto numbers) {
    std::string head = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    head += std::string(117 - head.size(), ' ') + "\n";
    std::string out = std::string("\x93NUMPY\1\0", 8) + char(head.size()) + '\0' + head;
    for (const auto number : numbers) out.append(reinterpret_cast<const char*>(&number), sizeof number);
    return dir.write(name, out);
  };
  const std::string x = array_of("x.npy", "<f4", "2, 3, 1", std::vector<float>{1, 2, 3, 4, 5, NAN}),
                    bytes = array_of("b.npy", "|u1", "2, 3, 1", std::vector<uint8_t>{1, 2, 3, 4, 5, 6}),
                    tokens = array_of("t.npy", "<i8", "2, 3", std::vector<int64_t>{3, 2, 1, 0, 1, -1}),
                    y = array_of("y.npy", "<i8", "2, 3", std::vector<int64_t>{0, 1, 2, 1, 0, -1}),
                    whole = array_of("w.npy", "<i8", "2, 3, 1", std::vector<int64_t>{0, 1, 2, 1, 0, 1});
  const auto load = [](Keys keys, int rules = kDataRules) {
    DataContext context = offline();
    context.rules = rules;
    return make("NPY", keys)->load(context);
  };
  const Keys keys = {{"inputs", x}, {"targets", y}, {"sequences", "true"}};
  const Data data = load(keys);
  CHECK((data.classes == 3 && data.label_of == LabelOf::step && data.ragged));
  CHECK(data.train.targets.shape() == Shape{2, 3});
  CHECK(values(data.train.targets) == std::vector<double>{0, 1, 2, 1, 0, -1});
  CHECK(agrees(make("NPY", keys)->check(offline()), data));
  CHECK(values(load({{"inputs", tokens}, {"targets", y}, {"tokens", "4"}}).train.targets) ==
        values(data.train.targets));
  const Data of_bytes = load({{"inputs", bytes}, {"targets", whole}, {"sequences", "true"}});
  CHECK((of_bytes.classes == 3 && of_bytes.label_of == LabelOf::step));
  CHECK(of_bytes.train.targets.shape() == Shape{2, 3});
  const std::string masked = array_of("m.npy", "<i8", "2, 3", std::vector<int64_t>{0, -1, 2, -1, 0, 1}),
                    late = array_of("l.npy", "<i8", "2, 3", std::vector<int64_t>{0, 1, 2, 1, 0, 0});
  CHECK(values(load({{"inputs", bytes}, {"targets", masked}, {"sequences", "true"}}).train.targets) ==
        std::vector<double>{0, -1, 2, -1, 0, 1});
  CHECK_THAT(error_of([&] {
               load({{"inputs", x}, {"targets", late}, {"sequences", "true"}});
             }),
             Catch::Contains("row 1 has a label for step 2, and its sequence has 2 steps; expected -1 behind them"));
  const Data former = load(keys, kRulesOfStepClasses - 1);
  CHECK((former.classes == 0 && former.train.targets.dtype() == DType::f32));
  CHECK(former.train.targets.shape() == Shape{2, 3, 1});
}
