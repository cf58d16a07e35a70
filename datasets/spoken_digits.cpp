// Drawn recordings of digits: frames of numbers, and the digits without their places. A net of frames that fails on
// these has a fault; a result on them says little about speech.
#include <cmath>
#include <limits>

#include "datasets/drawn_set.h"

namespace neon {

namespace {

struct SpokenParams {
  int64_t digits = 5, features = 12, ntrain = 2000, ntest = 200;
  double noise = 0.5;
  std::optional<uint64_t> seed;
  static void describe(auto&& p) {
    p("digits", &SpokenParams::digits, "The most digits of a recording, drawn from 1 on.", closed(1, 1000));
    p("features", &SpokenParams::features, "Numbers of a frame.", closed(2, 1000));
    p("noise", &SpokenParams::noise, "Deviation of what is added to each number; that of the sounds is 1.",
      closed(0, 100));
    p("ntrain", &SpokenParams::ntrain, "Number of training samples.", closed(1, 1e7), Unit{"samples"});
    p("ntest", &SpokenParams::ntest, "Number of test samples.", closed(0, 1e7), Unit{"samples"});
    p("seed", &SpokenParams::seed, "Seed of the recordings. Default: the run's.");
  }
};

// A digit is three sounds of one to three frames each; up to two silent frames stand before each digit and at the end.
// Class 0 is the blank of CTC, class d + 1 the digit d.
class SpokenDigits : public DrawnSet<SpokenParams> {
 public:
  using DrawnSet::DrawnSet;

 private:
  const char* source() const override { return "drawn recordings of digits"; }
  const char* streams() const override { return "spoken"; }
  Shape target() const override { return {params.digits}; }
  static constexpr int64_t kSounds = 3, kMostFrames = 3, kMostSilence = 2, kDigits = 10;

  int64_t frames() const { return params.digits * (kSounds * kMostFrames + kMostSilence) + kMostSilence; }

  SampleMeaning meaning() const override {
    SampleMeaning out;
    out.sample = {frames(), params.features};
    out.sequence = out.ragged = true;
    out.label_of = LabelOf::sequence;
    out.classes = kDigits + 1;
    out.class_names = {"-"};
    for (int64_t d = 0; d < kDigits; ++d) out.class_names.push_back(std::to_string(d));
    return out;
  }

  // inputs (n,T,F), NaN behind the last frame; targets (n,digits), -1 behind the last digit.
  Split draw(int64_t n, Stream stream) const override {
    Split out;
    if (n == 0) return out;
    out.inputs = Tensor(DType::f32, {n, frames(), params.features});
    out.targets = Tensor(DType::i32, {n, params.digits});
    std::ranges::fill(out.inputs.as<float>(), std::numeric_limits<float>::quiet_NaN());
    std::ranges::fill(out.targets.as<int32_t>(), -1);
    const std::vector<double> sounds = all_sounds();
    const auto count = size_t(params.features);
    for (int64_t i = 0; i < n; ++i) {
      auto at = out.inputs.as<float>().begin() + long(i * frames()) * long(count);
      const auto say = [&](const double* sound, int64_t most) {
        for (int64_t k = stream.below(uint32_t(most)) + (sound ? 1 : 0); k > 0; --k)
          for (size_t f = 0; f < count; ++f) *at++ = float((sound ? sound[f] : 0) + params.noise * stream.normal());
      };
      const int64_t digits = 1 + stream.below(uint32_t(params.digits));
      for (int64_t d = 0; d < digits; ++d) {
        const int64_t digit = stream.below(kDigits);
        say(nullptr, kMostSilence + 1);
        for (int64_t s = 0; s < kSounds; ++s) say(&sounds[size_t(digit * kSounds + s) * count], kMostFrames);
        out.targets.set(i * params.digits + d, double(digit + 1));
      }
      say(nullptr, kMostSilence + 1);
    }
    return out;
  }

  // The sounds of all digits, the same for every seed.
  std::vector<double> all_sounds() const {
    Stream stream(0, "spoken/sounds");
    std::vector<double> out(size_t(kDigits * kSounds * params.features));
    for (double& number : out) number = stream.normal();
    return out;
  }
};

NEON_REGISTER(
    Dataset, SpokenDigits,
    "Drawn recordings (frames, features) of up to five digits of different lengths; the targets are the digits said, "
    "as for CTC, whose blank is class 0.");

}  // namespace

}  // namespace neon
