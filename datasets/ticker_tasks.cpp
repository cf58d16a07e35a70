// Tasks of neural Turing machines (Graves et al. 2014) beside copying: symbols to give back several times, or sorted.
#include <algorithm>
#include <numeric>

#include "datasets/drawn_set.h"

namespace neon {

namespace {

struct RepeatCopyParams {
  int64_t length = 10, repeats = 5, symbols = 8, ntrain = 10000, ntest = 1000;
  std::optional<uint64_t> seed;
  static void describe(auto&& p) {
    p("length", &RepeatCopyParams::length, "Symbols to copy, at most: neon draws their number from 1.",
      closed(1, 10'000), Alias{"seq_len_max"});
    p("repeats", &RepeatCopyParams::repeats, "Copies asked for, at most: neon draws their number from 1.",
      closed(1, 1000), Alias{"repeat_count_max"});
    p("symbols", &RepeatCopyParams::symbols, "Different symbols.", closed(2, 100'000));
    p("ntrain", &RepeatCopyParams::ntrain, "Number of training samples.", closed(1, 1e8), Unit{"samples"});
    p("ntest", &RepeatCopyParams::ntest, "Number of test samples.", closed(0, 1e8), Unit{"samples"});
    p("seed", &RepeatCopyParams::seed, "Seed of the symbols. Default: the run's.");
  }
};

// Tokens 0 to symbols - 1 are the symbols; then come the marks that ask for 1, 2, ... copies, and the blank that asks
// for a symbol. Classes are the symbols, and one more that ends the copies.
class RepeatCopyTask : public DrawnSet<RepeatCopyParams> {
 public:
  using DrawnSet::DrawnSet;

 private:
  const char* source() const override { return "drawn symbols"; }
  const char* streams() const override { return "repeat copy"; }
  Shape target() const override { return {steps()}; }
  int64_t steps() const { return params.length + 1 + params.length * params.repeats + 1; }

  SampleMeaning meaning() const override {
    SampleMeaning out;
    out.sample = {steps()};
    out.sequence = true;
    out.label_of = LabelOf::step;
    out.ragged = true;
    out.dtype = DType::i32;
    out.tokens = params.symbols + params.repeats + 1;
    out.classes = params.symbols + 1;
    return out;
  }

  // inputs (n,T) and targets (n,T): symbols, the mark, blanks; targets are -1 until the blanks.
  Split draw(int64_t n, Stream stream) const override {
    Split out;
    if (n == 0) return out;
    out.inputs = Tensor(DType::i32, {n, steps()});
    out.targets = Tensor(DType::i32, {n, steps()});
    std::ranges::fill(out.inputs.as<int32_t>(), -1);
    std::ranges::fill(out.targets.as<int32_t>(), -1);
    const auto end = int32_t(params.symbols), blank = int32_t(params.symbols + params.repeats);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t count = 1 + stream.below(uint32_t(params.length));
      const int64_t copies = 1 + stream.below(uint32_t(params.repeats));
      const auto input = out.inputs.as<int32_t>().subspan(size_t(i * steps()), size_t(steps()));
      const auto target = out.targets.as<int32_t>().subspan(size_t(i * steps()), size_t(steps()));
      for (int64_t k = 0; k < count; ++k) input[size_t(k)] = int32_t(stream.below(uint32_t(params.symbols)));
      input[size_t(count)] = int32_t(params.symbols + copies - 1);
      for (int64_t k = 0; k <= count * copies; ++k) {
        input[size_t(count + 1 + k)] = blank;
        target[size_t(count + 1 + k)] = k < count * copies ? input[size_t(k % count)] : end;
      }
    }
    return out;
  }
};

NEON_REGISTER(Dataset, RepeatCopyTask,
              "Symbols, a mark that asks for so many copies, and blanks; the targets at the blanks are the symbols, so "
              "many times, and a class that ends them.");

struct PrioritySortParams {
  int64_t length = 20, symbols = 8, ntrain = 10000, ntest = 1000;
  std::optional<uint64_t> seed;
  static void describe(auto&& p) {
    p("length", &PrioritySortParams::length, "Symbols to sort.", closed(1, 10'000), Alias{"seq_len_max"});
    p("symbols", &PrioritySortParams::symbols, "Different symbols.", closed(2, 10'000));
    p("ntrain", &PrioritySortParams::ntrain, "Number of training samples.", closed(1, 1e8), Unit{"samples"});
    p("ntest", &PrioritySortParams::ntest, "Number of test samples.", closed(0, 1e8), Unit{"samples"});
    p("seed", &PrioritySortParams::seed, "Seed of the symbols. Default: the run's.");
  }
};

// The numbers of a step: one of the symbol, which is 1, for each symbol; its priority; and 1 where a symbol is asked
// for.
class PrioritySortTask : public DrawnSet<PrioritySortParams> {
 public:
  using DrawnSet::DrawnSet;

 private:
  const char* source() const override { return "drawn symbols"; }
  const char* streams() const override { return "priority sort"; }
  Shape target() const override { return {steps()}; }
  int64_t steps() const { return 2 * params.length; }
  int64_t numbers() const { return params.symbols + 2; }

  SampleMeaning meaning() const override {
    SampleMeaning out;
    out.sample = {steps(), numbers()};
    out.sequence = true;
    out.label_of = LabelOf::step;
    out.classes = params.symbols;
    return out;
  }

  // inputs (n,T,F) and targets (n,T): symbols, then blanks; targets are -1 until the blanks.
  Split draw(int64_t n, Stream stream) const override {
    Split out;
    if (n == 0) return out;
    const int64_t length = params.length, priority = params.symbols, blank = priority + 1;
    out.inputs = Tensor(DType::f32, {n, steps(), numbers()});
    out.targets = Tensor(DType::i32, {n, steps()});
    std::ranges::fill(out.inputs.as<float>(), 0.0f);
    std::ranges::fill(out.targets.as<int32_t>(), -1);
    std::vector<int32_t> symbols(static_cast<size_t>(length)), order(symbols.size());
    std::vector<float> priorities(symbols.size());
    for (int64_t i = 0; i < n; ++i) {
      float* const input = &out.inputs.as<float>()[size_t(i * steps() * numbers())];
      for (int64_t k = 0; k < length; ++k) {
        symbols[size_t(k)] = int32_t(stream.below(uint32_t(params.symbols)));
        priorities[size_t(k)] = float(2 * stream.uniform() - 1);
        input[k * numbers() + symbols[size_t(k)]] = 1;
        input[k * numbers() + priority] = priorities[size_t(k)];
        input[(length + k) * numbers() + blank] = 1;
      }
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, std::greater(), [&](int32_t k) { return priorities[size_t(k)]; });
      for (int64_t k = 0; k < length; ++k)
        out.targets.as<int32_t>()[size_t(i * steps() + length + k)] = symbols[size_t(order[size_t(k)])];
    }
    return out;
  }
};

NEON_REGISTER(Dataset, PrioritySortTask,
              "Symbols with priorities from -1 to 1, then as many blanks; the targets at the blanks are the symbols, "
              "the one of the highest priority first.");

}  // namespace

}  // namespace neon
