// Noise with random labels: for timing and for checks that a net cannot learn what is not there.
#include "datasets/dataset.h"
#include "neon/core/random.h"

namespace neon {

namespace {

struct UniformParams {
  int64_t ntrain = 1000, ntest = 100, nout = 10;
  std::vector<int64_t> nin = {784};
  bool bytes = false;
  std::optional<uint64_t> seed;
  static void describe(auto&& p) {
    p("ntrain", &UniformParams::ntrain, "Training samples.", closed(1, 4e9), Unit{"samples"});
    p("ntest", &UniformParams::ntest, "Test samples.", closed(0, 4e9), Unit{"samples"});
    p("nin", &UniformParams::nin, "Shape of one input: a number of features, or [C, H, W].", at_least(1));
    p("nout", &UniformParams::nout, "Classes; 0: the target is the input.", closed(0, 1e6), Alias{"classes"});
    p("bytes", &UniformParams::bytes,
      "Whether inputs are bytes, as of pixels, a quarter of the memory; the net sees them divided by 255.");
    p("seed", &UniformParams::seed, "Seed of the samples; otherwise the run's.");
  }
};

class UniformRandom : public Parametrized<Dataset, UniformParams> {
 public:
  using Parametrized::Parametrized;

  Data load(const DataContext& context) const override {
    Data data;
    const uint64_t seed = params.seed.value_or(context.seed);
    data.train = draw(params.ntrain, Stream(seed, "uniform_random/train"));
    data.test = draw(params.ntest, Stream(seed, "uniform_random/test"));
    data.meaning() = meaning();
    data.source = source();
    return finish(std::move(data), context);
  }

  DataCheck check(const DataContext&) const override {
    DataCheck out;
    out.found = true;
    out.source = source();
    out.meaning() = meaning();
    out.train_size = params.ntrain;
    out.test_size = params.ntest;
    return finish(out);
  }

 private:
  DType dtype() const { return params.bytes ? DType::u8 : DType::f32; }
  bool has_pixels() const { return params.nin.size() == 3; }
  SampleMeaning meaning() const {
    SampleMeaning out;
    out.sample = Shape{std::span<const int64_t>(params.nin)};
    out.channels_last = has_pixels();
    out.dtype = dtype();
    if (params.bytes) out.scale_bytes();
    out.classes = params.nout;
    return out;
  }
  const char* source() const { return params.bytes ? "drawn bytes" : "drawn uniformly from [0, 1)"; }

  Split draw(int64_t n, Stream stream) const {
    if (n == 0) return {};
    Shape sample{std::span<const int64_t>(params.nin)};
    if (has_pixels()) sample = {sample[1], sample[2], sample[0]};
    Split out{Tensor(dtype(), Shape{n}.concat(sample)), {}};
    if (params.bytes) draw_bytes(out.inputs.as<uint8_t>(), stream);
    else
      for (float& value : out.inputs.as<float>()) value = uniform_from_bits(stream.bits());
    if (params.nout == 0) return out;
    out.targets = Tensor(DType::i32, {n});
    for (int32_t& label : out.targets.as<int32_t>()) label = int32_t(stream.below(uint32_t(params.nout)));
    return out;
  }

  // Four of each draw.
  static void draw_bytes(std::span<uint8_t> to, Stream& stream) {
    uint32_t bits = 0;
    for (size_t i = 0; i < to.size(); ++i) {
      bits = i % 4 == 0 ? stream.bits() : bits >> 8;
      to[i] = uint8_t(bits);
    }
  }
};

NEON_REGISTER(Dataset, UniformRandom, "Uniform noise with random labels, in memory.");

}  // namespace

}  // namespace neon
