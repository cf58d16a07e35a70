// SparseNet: patches of ten photographs of nature, whitened, as Olshausen and Field (1996) learned sparse codes from
// them. neon 0.9 called the set SPARSENET. A patch is its own target.
#include <algorithm>
#include <cmath>

#include "datasets/dataset.h"
#include "datasets/file.h"
#include "datasets/matlab.h"
#include "datasets/text_file.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

constexpr const char* kFile = "IMAGES.mat";
constexpr const char* kVariable = "IMAGES";
constexpr const char* kFolders[] = {"SPARSENET", "SparseNet", "sparsenet"};
constexpr const char* kUrl = "http://redwood.berkeley.edu/bruno/sparsenet/IMAGES.mat";

struct SparseNetParams {
  int64_t patch = 16;
  static void describe(auto&& p) {
    p("patch", &SparseNetParams::patch,
      "Side of a patch. Patches lie side by side; what is left at the right and lower borders is left out.",
      closed(1, 512), Unit{"pixels"});
  }
};

class SparseNet : public Parametrized<Dataset, SparseNetParams> {
 public:
  using Parametrized::Parametrized;

  Data load(const DataContext& context) const override {
    const std::string path = find(context);
    if (path.empty())
      fail(ErrorKind::data, "SparseNet: ", kFile, " is not in ", place(context), "; to get it: ", command(context));
    Data data;
    data.train.inputs = patches(photographs(path), path);
    data.meaning() = meaning();
    data.source = path;
    return finish(std::move(data), context);
  }

  DataCheck check(const DataContext& context) const override {
    DataCheck out;
    out.meaning() = meaning();
    out.source = find(context);
    if (out.source.empty()) {
      out.missing = join_path(place(context), kFile);
      out.command = command(context);
      return out;
    }
    out.found = true;
    const MatlabArray all = photographs(out.source);
    out.train_size = all.sizes[0] / params.patch * (all.sizes[1] / params.patch) * all.sizes[2];
    return finish(out);
  }

 private:
  SampleMeaning meaning() const {
    SampleMeaning out;
    out.sample = {1, params.patch, params.patch};
    out.channels_last = true;
    return out;
  }
  static std::string place(const DataContext& context) { return join_path(context.data_folder(), kFolders[0]); }
  static std::string command(const DataContext& context) {
    return text("curl -fL --create-dirs -o ", shell_word(join_path(place(context), kFile)), ' ', kUrl);
  }
  static std::string find(const DataContext& context) {
    for (const char* folder : kFolders) {
      const std::string path = join_path(join_path(context.data_folder(), folder), kFile);
      if (!file_exists(path)) continue;
      context.check_may_read(path, "");
      return path;
    }
    return "";
  }

  // (rows, columns, photographs)
  MatlabArray photographs(const std::string& path) const {
    const TextFile file(path);
    MatlabArray out = read_matlab_array(file.text(), kVariable, path);
    if (out.sizes.size() == 2) out.sizes.push_back(1);
    if (out.sizes.size() != 3 || std::min(out.sizes[0], out.sizes[1]) < params.patch || out.sizes[2] < 1)
      fail(ErrorKind::data, path, ": ", kVariable, " is ", Shape(out.sizes),
           ", expected (rows, columns, photographs) of at least ", params.patch, " rows and columns");
    return out;
  }

  // (n, patch, patch, 1): photograph by photograph, row by row.
  Tensor patches(const MatlabArray& all, const std::string& path) const {
    const int64_t side = params.patch, rows = all.sizes[0], columns = all.sizes[1];
    const int64_t down = rows / side, across = columns / side;
    Tensor out(DType::f32, {all.sizes[2] * down * across, side, side, 1});
    for (int64_t i = 0; i < out.elements(); ++i) {
      const int64_t x = i % side, y = i / side % side, n = i / (side * side);
      const int64_t column = n % across * side + x, row = n / across % down * side + y,
                    photograph = n / (across * down);
      const double number = all.numbers[size_t((photograph * columns + column) * rows + row)];
      if (!std::isfinite(number)) fail(ErrorKind::data, path, ": ", kVariable, " has a number that is not finite");
      out.set(i, number);
    }
    return out;
  }
};
NEON_REGISTER(Dataset, SparseNet,
              "Patches of ten whitened photographs of nature, each its own target: 10,240 of 16 x 16 pixels "
              "(Olshausen and Field 1996).");

}  // namespace

}  // namespace neon
