// Large and hostile tables take time and memory in proportion to their size.
#include <algorithm>
#include <catch2/catch.hpp>
#include <ctime>
#include <functional>

#include "datasets/csv_table.h"
#include "datasets/zip.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

// Seconds for what does not grow: a clock's steps, first touches of memory.
constexpr double kSlack = 0.05;
constexpr int kTries = 5;

double seconds(const std::function<void()>& action) {
  const std::clock_t before = std::clock();
  action();
  return double(std::clock() - before) / CLOCKS_PER_SEC;
}

// Twice the input takes at most 2.5 times the processor time. Where other programs crowd the machine, caches and
// threads that wait cost time, too, so a pair of measurements may fail; work that grows with the square fails every
// time.
void check_twice(const std::function<void()>& once, const std::function<void()>& twice) {
  double first = 0, second = 0;
  for (int i = 0; i < kTries; ++i) {
    first = seconds(once), second = seconds(twice);
    if (second <= 2.5 * first + kSlack) break;
  }
  CHECK(second <= 2.5 * first + kSlack);
}

void read_csv(const std::string& path) {
  CsvParams params;
  params.path = path;
  TableLayout layout;
  read_table(params, path, layout);
}

void check_growth(const std::function<std::string(size_t)>& content, size_t ordinary_size) {
  const TempDir dir;
  const size_t size = ordinary_size / kSmaller;
  const std::string once = dir.write("1.csv", content(size)), twice = dir.write("2.csv", content(2 * size));
  check_twice([&] { error_of([&] { read_csv(once); }); }, [&] { error_of([&] { read_csv(twice); }); });
}

std::string repeated(const std::string& part, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += part;
  return out;
}

}  // namespace

TEST_CASE("the time to read a table grows with its size") {
  check_growth(
      [](size_t n) {
        std::string head, row;
        for (size_t i = 0; i < n; ++i) head += text("column", i, ","), row += "1,";
        return head + "k\n" + row + "0\n" + row + "1\n";
      },
      20000);
  check_growth([](size_t n) { return repeated("1,2,0\n3,4,1\n", n); }, 50000);
  check_growth([](size_t n) { return "x,k\n" + std::string(n, '\n') + "1,a\n2,b\n"; }, 400000);
  check_growth([](size_t n) { return "x,k\n" + std::string(n, '1') + ",a\n2,b\n"; }, 400000);
  check_growth([](size_t n) { return "x,k\n1,\"" + std::string(n, 'a'); }, 400000);
  check_growth([](size_t n) { return "x,k\n" + repeated("1,\"\"\"a\"\n", n) + "1,b\n"; }, 20000);
  check_growth([](size_t n) { return std::string(n, ','); }, 1000000);
  check_growth([](size_t n) { return "x,y,k\n" + repeated("1\n", n); }, 200000);
}

TEST_CASE("the time to open an archive grows with its members") {
  const auto archive = [](size_t members) {
    const auto number = [](uint64_t value, size_t bytes) {
      std::string out;
      for (size_t i = 0; i < bytes; ++i) out += char(value >> (8 * i));
      return out;
    };
    std::string out;
    for (size_t i = 0; i < members; ++i) {
      const std::string name = text("array", i, ".npy");
      out += "PK\1\2" + std::string(24, '\0') + number(name.size(), 2) + std::string(16, '\0') + name;
    }
    const uint64_t size = out.size();
    return out + "PK\5\6" + std::string(6, '\0') + number(members, 2) + number(size, 4) + number(0, 4) + number(0, 2);
  };
  const std::string once = archive(30000), twice = archive(60000);
  const auto open = [](const std::string& bytes) {
    const MemorySource source(bytes, "a.npz");
    const ZipArchive zip(source);
    CHECK(zip.find("array29999.npy") != nullptr);
  };
  check_twice([&] { open(once); }, [&] { open(twice); });
}

TEST_CASE("a table read by several threads is that read by one") {
  const TempDir dir;
  std::string plain = "x,y,k\n";
  for (int i = 0; i < 300000; ++i) {
    plain += text(i, ",", i * 0.5, ",", i % 3 ? "a" : "b", i % 5 ? "\n" : "\r\n");
    if (i % 1000 == 0) plain += "\n  \n";
  }
  CsvParams params;
  TableLayout layout;
  const std::string path = dir.write("a.csv", plain);
  const Table table = read_table(params, path, layout);
  REQUIRE(table.targets[0].size() == 300000);
  bool right = true;
  const auto features = table.features.as<float>();
  for (size_t i = 0; i < 300000; ++i)
    right = right && features[2 * i] == float(i) && features[2 * i + 1] == float(double(i) * 0.5) &&
            table.targets[0][i] == (i % 3 ? "a" : "b");
  CHECK(right);
  // The first of two wrong cells is reported, with its line.
  std::string wrong = plain;
  const auto put = [&](int row) {
    const size_t at = wrong.find(text("\n", row, ",")) + 1;
    wrong[at] = 'x';
  };
  put(299999);
  put(150001);
  const std::string error = error_of([&] { read_table(params, dir.write("a.csv", wrong), layout); });
  const size_t at = wrong.find("x50001");
  const auto line = 1 + std::count(wrong.begin(), wrong.begin() + long(at), '\n');
  CHECK_THAT(error, Catch::Contains(text("a.csv:", line, ":1: column 'x': expected a number, found 'x50001'")));
}
