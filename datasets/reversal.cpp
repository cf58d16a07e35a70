// Random strings and their reversal: the smallest task of a net that reads one sequence and predicts another.
#include "datasets/drawn_set.h"

namespace neon {

namespace {

struct ReversalParams {
  int64_t length = 10, symbols = 26, ntrain = 10000, ntest = 1000;
  bool ragged = true;
  std::optional<uint64_t> seed;
  static void describe(auto&& p) {
    p("length", &ReversalParams::length, "Symbols of a string, at most.", closed(1, 10'000), Alias{"seq_len_max"});
    p("symbols", &ReversalParams::symbols, "Different symbols; up to 26 are letters.", closed(2, 100'000));
    p("ragged", &ReversalParams::ragged,
      "Draws the number of symbols from 1 to length; otherwise it is always length.");
    p("ntrain", &ReversalParams::ntrain, "Number of training samples.", closed(1, 1e8), Unit{"samples"});
    p("ntest", &ReversalParams::ntest, "Number of test samples.", closed(0, 1e8), Unit{"samples"});
    p("seed", &ReversalParams::seed, "Seed of the symbols. Default: the run's.");
  }
};

// Tokens and classes 0 to symbols - 1 are the symbols; one more class ends the target.
class Reversal : public DrawnSet<ReversalParams> {
 public:
  using DrawnSet::DrawnSet;

 private:
  const char* source() const override { return "drawn strings"; }
  const char* streams() const override { return "reversal"; }
  Shape target() const override { return {params.length + 1}; }

  SampleMeaning meaning() const override {
    SampleMeaning out;
    out.sample = {params.length};
    out.sequence = true;
    out.label_of = LabelOf::step;
    out.ragged = params.ragged;
    out.dtype = DType::i32;
    out.tokens = params.symbols;
    out.classes = params.symbols + 1;
    out.end_class = params.symbols;
    out.target_steps = params.length + 1;
    constexpr int64_t kLetters = 26;
    for (int64_t k = 0; k < params.symbols; ++k)
      out.class_names.push_back(params.symbols <= kLetters ? std::string(1, char('a' + k)) : std::to_string(k));
    out.class_names.push_back("<end>");
    return out;
  }

  // inputs (n,T) and targets (n,T+1), the end included; -1 behind both.
  Split draw(int64_t n, Stream stream) const override {
    Split out;
    if (n == 0) return out;
    const int64_t steps = params.length;
    out.inputs = Tensor(DType::i32, {n, steps});
    out.targets = Tensor(DType::i32, {n, steps + 1});
    std::ranges::fill(out.inputs.as<int32_t>(), -1);
    std::ranges::fill(out.targets.as<int32_t>(), -1);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t count = params.ragged ? 1 + stream.below(uint32_t(steps)) : steps;
      const auto input = out.inputs.as<int32_t>().subspan(size_t(i * steps));
      const auto target = out.targets.as<int32_t>().subspan(size_t(i * (steps + 1)));
      for (int64_t k = 0; k < count; ++k)
        input[size_t(k)] = target[size_t(count - 1 - k)] = int32_t(stream.below(uint32_t(params.symbols)));
      target[size_t(count)] = int32_t(params.symbols);
    }
    return out;
  }
};

NEON_REGISTER(
    Dataset, Reversal,
    "Strings of random symbols; the targets are the symbols from the last to the first, and a class that ends them.");

}  // namespace

}  // namespace neon
