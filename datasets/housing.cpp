// Housing: 506 suburbs of Boston with 13 facts each, and the median price of a house (Harrison and Rubinfeld 1978).
#include <algorithm>

#include "datasets/dataset.h"
#include "datasets/file.h"
#include "datasets/table_cell.h"
#include "datasets/text_file.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

constexpr int64_t kFacts = 13;
constexpr const char* kHousingFile = "housing.data";
constexpr const char* kHousingFolders[] = {"Housing", "housing"};
constexpr const char* kHousingUrl = "https://archive.ics.uci.edu/ml/machine-learning-databases/housing/housing.data";

struct HousingParams {
  std::optional<double> test;
  static void describe(auto&& p) {
    p("test", &HousingParams::test,
      "Share of the suburbs to test with, drawn by the seed. Default: 0.1, or none with folds.", half_open(0, 1));
  }
};

class Housing : public Parametrized<Dataset, HousingParams> {
 public:
  using Parametrized::Parametrized;

  Data load(const DataContext& context) const override {
    const std::string path = find(context);
    if (path.empty())
      fail(ErrorKind::data, "Housing: ", kHousingFile, " is in neither of ", place(context), ", ",
           join_path(context.data_folder(), kHousingFolders[1]), "; to get it: ", command(context));
    Data data;
    const Split all = read(path);
    data.meaning() = meaning();
    data.source = path;
    const int64_t n = all.size();
    split_rows(all, drawn_order(n, context.seed, "housing/test"), n - test_rows(n), data.train, data.test);
    return finish(std::move(data), context);
  }

  DataCheck check(const DataContext& context) const override {
    DataCheck out;
    out.meaning() = meaning();
    out.target = {1};
    out.source = find(context);
    if (out.source.empty()) {
      out.missing = join_path(place(context), kHousingFile);
      out.command = command(context);
      return out;
    }
    out.found = true;
    const int64_t n = read(out.source).size();
    out.test_size = test_rows(n);
    out.train_size = n - out.test_size;
    return finish(out);
  }

 private:
  int64_t test_rows(int64_t n) const { return int64_t(params.test.value_or(common.folds > 0 ? 0 : 0.1) * double(n)); }
  static SampleMeaning meaning() {
    SampleMeaning out;
    out.sample = {kFacts};
    return out;
  }
  static std::string place(const DataContext& context) { return join_path(context.data_folder(), kHousingFolders[0]); }
  static std::string command(const DataContext& context) {
    return text("curl -fL --create-dirs -o ", shell_word(join_path(place(context), kHousingFile)), ' ', kHousingUrl);
  }
  static std::string find(const DataContext& context) {
    for (const char* folder : kHousingFolders) {
      const std::string path = join_path(join_path(context.data_folder(), folder), kHousingFile);
      if (!file_exists(path)) continue;
      context.check_may_read(path, "");
      return path;
    }
    return "";
  }

  // Numbers with white space between them, 14 a line.
  static Split read(const std::string& path) {
    const TextFile file(path);
    const std::string_view all = file.text();
    std::vector<float> numbers;
    constexpr std::string_view kSpace = " \t\r\n";
    for (size_t at = all.find_first_not_of(kSpace); at != all.npos;) {
      const size_t end = std::min(all.find_first_of(kSpace, at), all.size());
      double number = 0;
      if (!parse_f32(all.substr(at, end - at), number))
        fail(ErrorKind::data, path, ":", 1 + std::count(all.begin(), all.begin() + std::ptrdiff_t(at), '\n'), ": ",
             no_f32_text(all.substr(at, end - at), MissingMarks()));
      numbers.push_back(float(number));
      at = all.find_first_not_of(kSpace, end);
    }
    constexpr size_t kRow = size_t(kFacts) + 1;
    if (numbers.empty() || numbers.size() % kRow)
      fail(ErrorKind::data, path, ": has ", numbers.size(), " numbers, expected ", kRow, " for each suburb");
    const auto n = int64_t(numbers.size() / kRow);
    Split out{Tensor(DType::f32, {n, kFacts}), Tensor(DType::f32, {n, 1})};
    for (size_t i = 0; i < size_t(n); ++i) {
      const float* const row = &numbers[i * kRow];
      std::copy_n(row, kFacts, &out.inputs.as<float>()[i * size_t(kFacts)]);
      out.targets.as<float>()[i] = row[kFacts];
    }
    return out;
  }
};
NEON_REGISTER(Dataset, Housing, "506 suburbs of Boston: 13 facts each, and the median price of a house to predict.");

}  // namespace

}  // namespace neon
