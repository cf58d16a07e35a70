// Sequences drawn by the program: symbols to copy or to turn round, and curves to go on with. A recurrent net that
// fails on these has a fault; a result on them says little else.
#include <cmath>
#include <numbers>

#include "datasets/drawn_set.h"

namespace neon {

namespace {

struct CopyParams {
  int64_t length = 10, symbols = 8, ntrain = 10000, ntest = 1000;
  bool reverse = false, ragged = true;
  std::optional<uint64_t> seed;
  static void describe(auto&& p) {
    p("length", &CopyParams::length, "Symbols to copy, at most.", closed(1, 100'000), Alias{"seq_len_max"});
    p("symbols", &CopyParams::symbols, "Different symbols.", closed(2, 100'000));
    p("reverse", &CopyParams::reverse, "Whether the symbols are to be given from the last to the first.");
    p("ragged", &CopyParams::ragged, "Draws the number of symbols from 1 to length; otherwise it is always length.");
    p("ntrain", &CopyParams::ntrain, "Number of training samples.", closed(1, 1e8), Unit{"samples"});
    p("ntest", &CopyParams::ntest, "Number of test samples.", closed(0, 1e8), Unit{"samples"});
    p("seed", &CopyParams::seed, "Seed of the symbols. Default: the run's.");
  }
};

// Tokens 0 to symbols - 1 are the symbols; then come the mark that ends them and the blank that asks for a symbol.
class CopyTask : public DrawnSet<CopyParams> {
 public:
  using DrawnSet::DrawnSet;

 private:
  const char* source() const override { return "drawn symbols"; }
  const char* streams() const override { return "copy"; }
  Shape target() const override { return {steps()}; }
  int64_t steps() const { return 2 * params.length + 1; }

  SampleMeaning meaning() const override {
    SampleMeaning out;
    out.sample = {steps()};
    out.sequence = true;
    out.label_of = LabelOf::step;
    out.ragged = params.ragged;
    out.dtype = DType::i32;
    out.tokens = params.symbols + 2;
    out.classes = params.symbols;
    return out;
  }

  // inputs (n,T) and targets (n,T): symbols, the mark, blanks; targets are -1 until the blanks.
  Split draw(int64_t n, Stream stream) const override {
    Split out;
    if (n == 0) return out;
    out.inputs = Tensor(DType::i32, {n, steps()});
    out.targets = Tensor(DType::i32, {n, steps()});
    const auto mark = int32_t(params.symbols), blank = mark + 1;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t count = params.ragged ? 1 + stream.below(uint32_t(params.length)) : params.length;
      const auto input = out.inputs.as<int32_t>().subspan(size_t(i * steps()), size_t(steps()));
      const auto target = out.targets.as<int32_t>().subspan(size_t(i * steps()), size_t(steps()));
      std::ranges::fill(input, -1);
      std::ranges::fill(target, -1);
      for (int64_t k = 0; k < count; ++k) {
        const auto symbol = int32_t(stream.below(uint32_t(params.symbols)));
        input[size_t(k)] = symbol;
        input[size_t(count + 1 + k)] = blank;
        target[size_t(count + 1 + (params.reverse ? count - 1 - k : k))] = symbol;
      }
      input[size_t(count)] = mark;
    }
    return out;
  }
};

NEON_REGISTER(
    Dataset, CopyTask,
    "Symbols, a mark and as many blanks; the targets at the blanks are the symbols, in their order or from the "
    "last to the first.");

struct LissajousParams {
  int64_t steps = 32, ntrain = 100, ntest = 20, points = 40;
  int64_t a = 3, b = 4;
  static void describe(auto&& p) {
    p("steps", &LissajousParams::steps, "Points of a sample.", at_least(1), Alias{"time_steps"});
    p("points", &LissajousParams::points, "Points of a turn of x.", at_least(4));
    p("a", &LissajousParams::a, "Turns of x.", at_least(1));
    p("b", &LissajousParams::b, "Turns of y for so many of x.", at_least(1));
    p("ntrain", &LissajousParams::ntrain, "Number of training samples.", closed(1, 1e7), Unit{"samples"});
    p("ntest", &LissajousParams::ntest, "Number of test samples, which follow the training samples.", closed(0, 1e7),
      Unit{"samples"});
  }
};

class Lissajous : public Parametrized<Dataset, LissajousParams> {
 public:
  using Parametrized::Parametrized;

  Data load(const DataContext& context) const override {
    Data out;
    out.meaning() = meaning();
    out.source = kSource;
    out.train = draw(0, params.ntrain);
    out.test = draw(params.ntrain, params.ntest);
    return finish(std::move(out), context);
  }

  DataCheck check(const DataContext&) const override {
    DataCheck out;
    out.found = true;
    out.source = kSource;
    out.meaning() = meaning();
    out.target = {params.steps, 2};
    out.train_size = params.ntrain;
    out.test_size = params.ntest;
    return finish(out);
  }

 private:
  static constexpr const char* kSource = "a drawn curve";

  SampleMeaning meaning() const {
    SampleMeaning out;
    out.sample = {params.steps, 2};
    out.sequence = out.streams = true;
    return out;
  }

  // Coordinate of a point: x = sin(2 pi t), y = sin(2 pi t b / a + pi / 4), t in turns of x.
  float coordinate(int64_t point, int64_t axis) const {
    const double turns = double(point) / double(params.points), pi = std::numbers::pi;
    return float(axis == 0 ? std::sin(2 * pi * turns)
                           : std::sin(2 * pi * turns * double(params.b) / double(params.a) + pi / 4));
  }

  // Samples `first` to `first` + n of the curve; each point's target is the next.
  Split draw(int64_t first, int64_t n) const {
    Split out;
    if (n == 0) return out;
    out.inputs = Tensor(DType::f32, {n, params.steps, 2});
    out.targets = Tensor(DType::f32, {n, params.steps, 2});
    for (int64_t i = 0; i < n * params.steps * 2; ++i) {
      const int64_t point = first * params.steps + i / 2;
      out.inputs.as<float>()[size_t(i)] = coordinate(point, i % 2);
      out.targets.as<float>()[size_t(i)] = coordinate(point + 1, i % 2);
    }
    return out;
  }
};

NEON_REGISTER(
    Dataset, Lissajous,
    "Points (x,y) of a Lissajous curve, in pieces that go on one from the other; the target of a point is the "
    "next.",
    {"TimeSeries"});

}  // namespace

}  // namespace neon
