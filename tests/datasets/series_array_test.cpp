// Sequences whose rows lie in an array: the same as of a table with these numbers.
#include <hdf5.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

// Rows of id, number, class and value; a third has 17 digits in f64.
const std::vector<double> kRows = {7, 1, 0, 0.5, 3, 2.5, 1, 1.5, 7, 3, 0, 0.5, 9, 1.0 / 3, 0, 2.5, 3, 4, 1, 1.5};
constexpr int64_t kColumns = 4;

std::string npy_of(const char* type, auto number) {
  std::string head = text("{'descr': '", type, "', 'fortran_order': False, 'shape': (", kRows.size() / kColumns, ", ",
                          kColumns, "), }");
  head += std::string(117 - head.size(), ' ') + "\n";
  std::string out = std::string("\x93NUMPY\1\0", 8) + char(head.size()) + '\0' + head;
  for (const double value : kRows) {
    const auto stored = decltype(number)(value);
    out.append(reinterpret_cast<const char*>(&stored), sizeof stored);
  }
  return out;
}

void write_hdf5(const std::string& path) {
  const hsize_t sizes[] = {kRows.size() / kColumns, kColumns};
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
              space = H5Screate_simple(2, sizes, nullptr),
              set = H5Dcreate2(file, "walks", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, kRows.data());
  H5Dclose(set), H5Sclose(space), H5Fclose(file);
}

}  // namespace

TEST_CASE("the rows of one id are a sequence in arrays, too") {
  const TempDir dir;
  write_hdf5(dir / "a.h5");
  const std::vector<Keys> files = {{{"path", dir.write("a.npy", npy_of("<f8", double()))}},
                                   {{"path", dir.write("b.npy", npy_of("<f4", float()))}},
                                   {{"path", dir / "a.h5"}, {"array", "walks"}}};
  for (const Keys& file : files) {
    INFO(file[0].second);
    Keys keys = file;
    keys.insert(keys.end(), {{"id", "0"}, {"target", "2"}, {"ignore", "[3]"}, {"test", "0"}, {"standardize", "false"}});
    const auto set = make("Sequences", keys);
    const Data data = set->load(offline());
    CHECK(agrees(set->check(offline()), data));
    REQUIRE(data.train.inputs.shape() == Shape{3, 2, 1});
    const double nan = std::nan("");
    const double wanted[] = {1, 3, 2.5, 4, double(float(1.0 / 3)), nan};
    for (int64_t i = 0; i < 6; ++i) {
      const double found = data.train.inputs.at(i);
      CHECK((found == wanted[i] || (std::isnan(wanted[i]) && std::isnan(found))));
    }
    CHECK(values(data.train.targets) == std::vector<double>{0, 1, 0});
    keys[keys.size() - 4].second = "3";  // target
    keys[keys.size() - 3].second = "[2]";
    CHECK(values(make("Sequences", keys)->load(offline()).train.targets) == std::vector<double>{0.5, 1.5, 2.5});
  }
}

TEST_CASE("keys of tables beside an array, and of arrays beside a table, are refused") {
  const TempDir dir;
  const std::string array = dir.write("a.npy", npy_of("<f8", double())), table = dir.write("a.csv", "1,2,0\n2,3,1\n");
  for (const std::string set : {"Sequences", "Windows"}) {
    const auto said = [&](const std::string& path, const std::string& key, const std::string& value) {
      Keys keys = {{"path", path}, {key, value}};
      if (set == "Sequences") keys.insert(keys.end(), {{"id", "0"}, {"target", "2"}});
      return error_of([&] { make(set, keys)->load(offline()); });
    };
    CHECK(said(array, "header", "true") ==
          "config: header: true is for a table, and " + array + " holds an array; leave it out");
    CHECK(said(array, "delimiter", ";") ==
          "config: delimiter: ; is for a table, and " + array + " holds an array; leave it out");
    CHECK(said(array, "decimal", "comma") ==
          "config: decimal: comma is for a table, and " + array + " holds an array; leave it out");
    for (const std::string& path : {array, table})
      CHECK(said(path, "array", "walks") == "config: array: 'walks' is the name of an array in an HDF5 file, and " +
                                                path + " is not such a file; leave it out");
  }
}
