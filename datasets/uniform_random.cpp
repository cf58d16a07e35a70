// Noise with random labels: for timing and for checks that a net cannot learn what is not there.
#include "datasets/drawn_set.h"

namespace neon {

namespace {

struct UniformParams {
  int64_t ntrain = 1000, ntest = 100, nout = 10, tokens = 0;
  std::vector<int64_t> nin = {784};
  bool bytes = false, each_step = false, each_pixel = false;
  std::optional<uint64_t> seed;
  static void describe(auto&& p) {
    p("ntrain", &UniformParams::ntrain, "Training samples.", closed(1, 4e9), Unit{"samples"});
    p("ntest", &UniformParams::ntest, "Test samples.", closed(0, 4e9), Unit{"samples"});
    p("nin", &UniformParams::nin,
      "Shape of one input: a number of features, or [C, H, W]; the steps of tokens; with each_step, [T, F].",
      at_least(1));
    p("nout", &UniformParams::nout, "Classes; 0: the target is the input.", closed(0, 1e6), Alias{"classes"});
    p("bytes", &UniformParams::bytes,
      "Whether inputs are bytes, as of pixels, a quarter of the memory; the net sees them divided by 255.");
    p("tokens", &UniformParams::tokens, "Above 0, inputs are tokens from 0 to below this one; 0: they are numbers.",
      closed(0, 1e8));
    p("each_step", &UniformParams::each_step, "Whether each step of a sequence has a label, instead of each sample.");
    p("each_pixel", &UniformParams::each_pixel, "Whether each pixel of an image has a label, instead of each sample.");
    p("seed", &UniformParams::seed, "Seed of the samples; otherwise the run's.");
  }
};

class UniformRandom : public DrawnSet<UniformParams> {
 public:
  explicit UniformRandom(UniformParams given) : DrawnSet(std::move(given)) {
    const size_t axes = params.nin.size();
    if (params.tokens > 0 && (params.bytes || params.nout == 0 || axes != 1))
      fail(ErrorKind::config, "tokens are whole numbers that no net can return: with tokens, give nin one number of ",
           "steps and nout the classes, and leave out bytes");
    if (params.each_step && (params.nout == 0 || axes != (params.tokens > 0 ? 1 : 2)))
      fail(ErrorKind::config, "each_step labels the steps of sequences: give nin [T, F], or the steps of tokens, and ",
           "nout the classes");
    if (params.each_pixel && (params.nout == 0 || axes != 3))
      fail(ErrorKind::config, "each_pixel labels the pixels of images: give nin [C, H, W], and nout the classes");
  }

 private:
  DType dtype() const { return params.tokens > 0 ? DType::i32 : params.bytes ? DType::u8 : DType::f32; }
  bool has_pixels() const { return params.nin.size() == 3; }
  Shape target() const override {
    if (params.each_pixel) return {params.nin[1], params.nin[2]};
    return params.each_step ? Shape{params.nin[0]} : Shape{};
  }
  SampleMeaning meaning() const override {
    SampleMeaning out;
    out.sample = Shape{std::span<const int64_t>(params.nin)};
    out.channels_last = has_pixels();
    out.dtype = dtype();
    if (params.bytes) out.scale_bytes();
    out.classes = params.nout;
    out.sequence = params.tokens > 0 || params.each_step;
    out.tokens = params.tokens;
    if (params.each_step) out.label_of = LabelOf::step;
    if (params.each_pixel) out.label_of = LabelOf::pixel;
    return out;
  }
  const char* streams() const override { return "uniform_random"; }
  const char* source() const override {
    return params.tokens > 0 ? "drawn tokens" : params.bytes ? "drawn bytes" : "drawn uniformly from [0, 1)";
  }

  Split draw(int64_t n, Stream stream) const override {
    if (n == 0) return {};
    Shape sample{std::span<const int64_t>(params.nin)};
    if (has_pixels()) sample = {sample[1], sample[2], sample[0]};
    Split out{Tensor(dtype(), Shape{n}.concat(sample)), {}};
    if (params.tokens > 0) draw_below(params.tokens, out.inputs, stream);
    else if (params.bytes) draw_bytes(out.inputs.as<uint8_t>(), stream);
    else
      for (float& value : out.inputs.as<float>()) value = uniform_from_bits(stream.bits());
    if (params.nout == 0) return out;
    out.targets = Tensor(DType::i32, Shape{n}.concat(target()));
    draw_below(params.nout, out.targets, stream);
    return out;
  }

  static void draw_below(int64_t bound, Tensor& to, Stream& stream) {
    for (int32_t& number : to.as<int32_t>()) number = int32_t(stream.below(uint32_t(bound)));
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
