// Seq2Seq: an encoder that reads a sequence, and a decoder that predicts another, label by label (Sutskever et al.
// 2014).
#pragma once
#include <set>

#include "models/container.h"
#include "models/label_search.h"

namespace neon {

struct Seq2SeqParams {
  Chain encoder, decoder;
  int64_t steps = 0;
  std::vector<int64_t> connections;
  int64_t beams = 1;
  double length_penalty = 0;
  static void describe(auto&& p) {
    p("encoder", &Seq2SeqParams::encoder, "Layers that read the samples. Their last states begin the decoder's.",
      Required{});
    p("decoder", &Seq2SeqParams::decoder,
      "Layers that predict the labels of the targets. They take tokens: a start token, whose number is that of the "
      "classes, then the label before. In training this is the target's label, in an evaluation of sequences and in "
      "predict the label that the net predicted for the step before.",
      Required{});
    p("steps", &Seq2SeqParams::steps, "The most labels that are predicted. 0: as many as the longest target has.",
      closed(0, 100'000));
    p("connections", &Seq2SeqParams::connections,
      "The number of the encoder's cell, from 0, with whose last state each of the decoder's cells begins; -1: it "
      "begins at 0. Default: in the same order.",
      at_least(-1), Alias{"decoder_connections"});
    p("beams", &Seq2SeqParams::beams,
      "Sequences that an evaluation of sequences and predict keep of each sample at every step; the best is predicted. "
      "1: each step takes the likeliest label. Time grows in proportion.",
      closed(1, 1024), Alias{"beam_width"});
    p("length_penalty", &Seq2SeqParams::length_penalty,
      "A beam's score is (log p) / L^length_penalty for L labels of probability p, the end included. 0: the likeliest "
      "sequence wins, which may be short; 1: the mean log-probability of a label counts.",
      closed(0, 10));
  }
};

class Seq2Seq : public Parametrized<Container, Seq2SeqParams> {
 public:
  explicit Seq2Seq(Seq2SeqParams given)
      : Parametrized(std::move(given)), chains_{this->params.encoder, this->params.decoder} {}
  std::span<Chain> branches() override { return chains_; }
  const Seq2Seq* seq2seq() const override { return this; }
  // The decoder begins with all that the encoder has read.
  Sight sight() const override { return Sight::any; }
  std::string idle() const override {
    if (params.beams > 1 || params.length_penalty == 0) return "";
    return text("length_penalty: ", params.length_penalty, " has no effect without beams: 2 or more");
  }
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
  BeamOptions beam_options() const { return {params.beams, params.length_penalty}; }
  // Layers outside the decoder whose outputs its layers take by name.
  std::set<std::string> read_by_decoder() const;

 private:
  std::vector<Chain> chains_;
};

}  // namespace neon
