// Seq2Seq: an encoder that reads a sequence, and a decoder that predicts another, label by label (Sutskever et al.
// 2014).
#pragma once
#include "models/container.h"

namespace neon {

struct Seq2SeqParams {
  Chain encoder, decoder;
  int64_t steps = 0;
  std::vector<int64_t> connections;
  static void describe(auto&& p) {
    p("encoder", &Seq2SeqParams::encoder, "Layers that read the samples. Their last states begin the decoder's.",
      Required{});
    p("decoder", &Seq2SeqParams::decoder,
      "Layers that predict the labels of the targets. They take tokens: a start token, whose number is that of the "
      "classes, then the label before. In training this is the target's label, in an evaluation of sequences and in "
      "predict the likeliest label of the step before.",
      Required{});
    p("steps", &Seq2SeqParams::steps, "The most labels that are predicted. 0: as many as the longest target has.",
      closed(0, 100'000));
    p("connections", &Seq2SeqParams::connections,
      "The number of the encoder's cell, from 0, with whose last state each of the decoder's cells begins; -1: it "
      "begins "
      "at 0. Default: in the same order.",
      at_least(-1), Alias{"decoder_connections"});
  }
};

class Seq2Seq : public Parametrized<Container, Seq2SeqParams> {
 public:
  explicit Seq2Seq(Seq2SeqParams given)
      : Parametrized(std::move(given)), chains_{this->params.encoder, this->params.decoder} {}
  std::span<Chain> branches() override { return chains_; }
  const Seq2Seq* seq2seq() const override { return this; }
  Expr merge(LayerContext&, const std::vector<Expr>& outputs) const override { return outputs.back(); }

  const Chain& encoder() const { return chains_[0]; }
  const Chain& decoder() const { return chains_[1]; }
  // The decoder's tokens (N,L) where the targets are known: the start token, then the labels but for the last.
  static Expr tokens_of(LayerContext& context);
  // Throws a config error for a data set or for layers that cannot predict label by label.
  void check(const LayerContext& context) const;
  // The same for the outputs y (N,1,K) of a step of the decoder.
  static void check_decoded(const LayerContext& context, Expr y);
  // How many labels are predicted. A config error where that is not known.
  int64_t steps_of(const LayerContext& context) const;

 private:
  std::vector<Chain> chains_;
};

}  // namespace neon
