// `parallel` of a spec: how several devices share a step.
#pragma once
#include <string>

#include "layers/dense_split.h"
#include "neon/core/params.h"

namespace neon {

struct Parallel {
  std::string batch_norm = "own";
  std::string gradients = "own";
  std::string dense = "data", scheme = "a", embedding = "data", classifier = "data";
  std::string optimizer = "replicated";
  DenseSplit dense_split() const {
    return {.on = dense != "data",
            .pairs = dense == "pairs",
            .turns = scheme == "a"   ? SampleTurns::together
                     : scheme == "b" ? SampleTurns::by_rank
                                     : SampleTurns::by_share,
            .classifier = classifier == "model",
            .tables = embedding == "model"};
  }
  static void describe(auto&& p) {
    p("batch_norm", &Parallel::batch_norm,
      "Samples that give batch norm its mean and variance in training. own: each device takes its share of the "
      "batch, and running statistics are means over the devices. all: the whole batch, as one device does; each such "
      "layer then waits for all devices.",
      one_of({"own", "all"}));
    p("gradients", &Parallel::gradients,
      "Type in which the devices add up gradients. own: that in which each device computes them. f32: for nets of "
      "f16 or bf16, whose sums are then not rounded on the way, and take twice as long.",
      one_of({"own", "f32"}));
    p("dense", &Parallel::dense,
      "How dense layers (Affine, Linear) of samples are shared. data: each device has all weights, and takes its "
      "share of the batch. model: each device has some rows of the weights, and takes all samples of the batch. Few "
      "bytes are exchanged then where weights are many, as in AlexNet. Layers whose nout is no multiple of the "
      "devices stay whole. pairs: the same, of steps of sequences, too. The second of two such layers in a row then "
      "has some columns of its weights. A sum behind both replaces the exchange between them (Shoeybi et al. 2019). "
      "MultiHeadAttention and GatedMLP are such pairs by themselves: devices share heads and hidden units.",
      one_of({"data", "model", "pairs"}));
    p("scheme", &Parallel::scheme,
      "How samples come to dense layers that devices share (Krizhevsky 2014). a: all at once. b: those of one device "
      "after the other. c: in as many turns as there are devices, each with a share of every device's samples. In b "
      "and c the samples of the next turn are sent while those of the present one are computed. Where devices have "
      "different numbers of samples, as in a last batch, c sends all at once. Weights are updated once a step in any "
      "scheme.",
      one_of({"a", "b", "c"}));
    p("embedding", &Parallel::embedding,
      "How tables of Embedding are shared. data: each device has all rows, and their gradients are added up. model: "
      "each device has some rows, and looks up those that it has for the tokens of all devices; features of tokens "
      "are exchanged. Fewer bytes are exchanged then where a table has more rows than a batch has tokens. Tables "
      "that begin with `vectors`, and those that layers share, stay whole.",
      one_of({"data", "model"}));
    p("classifier", &Parallel::classifier,
      "Where the cost of classes is computed. data: each device gets the outputs of its samples. model: outputs of "
      "the last layer stay with the devices that share it. Four numbers for each sample are exchanged in their place "
      "(Shoeybi et al. 2019). The key is for training by Softmax and CrossEntropyMulti, with dense: model, or pairs.",
      one_of({"data", "model"}));
    p("optimizer", &Parallel::optimizer,
      "Who keeps the weights (in 16 bits, their f32 masters) and the optimizer's state. replicated: each device "
      "keeps all. sharded: each device keeps some rows of each weight of two axes or more, and updates them. A step "
      "gathers the rows of all devices, and adds up gradients by rows (ZeRO; Rajbhandari et al. 2020). It takes less "
      "memory, and exchanges as many bytes.",
      one_of({"replicated", "sharded"}));
  }
};

template <>
struct Value_of<Parallel> {
  static std::string type() { return "keys of several devices"; }
  static void read(const Setting& s, Parallel& out, const Constraint&, Problems& problems) {
    out = {};
    if (!s.is_map()) return detail::wrong_type(s, "keys, as in {batch_norm: all}", problems);
    schema_of<Parallel>().read(s, &out, problems);
    if (out.classifier == "model" && (out.dense == "data" || out.scheme != "a"))
      problems.add(s,
                   "classifier: model is for dense layers that devices share; add dense: model, or dense: pairs, and "
                   "leave scheme out");
    if (out.dense == "data" && out.scheme != "a")
      problems.add(s, text("scheme: ", out.scheme,
                           " is for dense layers that devices share; add dense: model, or dense: pairs"));
  }
  static Setting write(const Parallel& value) { return schema_of<Parallel>().write(&value); }
};

}  // namespace neon
