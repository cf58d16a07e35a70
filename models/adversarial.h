// Generator and discriminator of an adversarial net (Goodfellow et al. 2014), as the one layer of a spec.
#pragma once
#include "models/container.h"

namespace neon {

struct GenerativeAdversarialParams {
  Chain generator, discriminator;
  std::vector<int64_t> noise;
  std::string noise_type = "normal";
  static void describe(auto&& p) {
    p("generator", &GenerativeAdversarialParams::generator, "Layers that make a sample of noise.", Required{});
    p("discriminator", &GenerativeAdversarialParams::discriminator,
      "Layers that give one number for a sample: a probability that it is real, or with the Wasserstein cost any "
      "number.",
      Required{});
    p("noise", &GenerativeAdversarialParams::noise,
      "Shape of the noise of one sample: a number of features, or (C, H, W), as in noise: [2, 7, 7].", at_least(1),
      Alias{"noise_dim"}, Required{});
    p("noise_type", &GenerativeAdversarialParams::noise_type,
      "normal: of mean 0 and deviation 1; uniform: from -1 to 1.", one_of({"normal", "uniform"}));
  }
};

class GenerativeAdversarial : public Parametrized<Container, GenerativeAdversarialParams> {
 public:
  explicit GenerativeAdversarial(GenerativeAdversarialParams given);
  std::span<Chain> branches() override { return chains_; }
  const GenerativeAdversarial* adversarial() const override { return this; }
  Expr merge(LayerContext&, const std::vector<Expr>& outputs) const override { return outputs.back(); }

  const Chain& generator() const { return chains_[0]; }
  const Chain& discriminator() const { return chains_[1]; }
  // New noise (N,F) or (N,H,W,C) for so many samples, drawn by the name of the layer.
  Expr noise(LayerContext& context, const std::string& name, int64_t samples) const;

 private:
  std::vector<Chain> chains_;
};

}  // namespace neon
