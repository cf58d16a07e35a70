// Data sets that files of neon 1.x and 2.x name.
#include <catch2/catch.hpp>

#include "neon/spec/spec.h"

using namespace neon;
using Catch::Contains;

namespace {

Spec with_data(const std::string& text) { return spec_from_text(text, "m.yaml"); }
std::string part_of(const Spec& spec, const char* key) {
  const Setting* found = spec.root.find(key);
  return found ? found->to_string() : "absent";
}

}  // namespace

TEST_CASE("a data set of 1.x may be a word alone") {
  const std::string file = "epochs: 1\nlayers: [{type: Affine, nout: 3}]\n";
  CHECK(part_of(with_data(file + "dataset: mnist\n"), "dataset") == "{MNIST: {fallback: Digits}}");
  CHECK(part_of(with_data(file + "dataset: ptb\n"), "dataset") == "PTB");
  CHECK(part_of(with_data(file + "dataset: ptb-train\n"), "dataset") == "PTB");
  CHECK(part_of(with_data(file + "dataset: babi\n"), "dataset") == "BABI");
  const Spec texts = with_data(file + "dataset: {name: ptb, timesteps: 20, tokenizer: newline, onehot_input: false}\n");
  CHECK(part_of(texts, "dataset") == "{PTB: {steps: 20}}");
  REQUIRE(texts.conversion.warnings.size() == 2);
  CHECK_THAT(texts.conversion.warnings[0].text, Contains("'tokenizer' is left out: neon 1.x gave the data set"));
  for (const char* task : {"qa15_basic-deduction", "qa15", "15"})
    CHECK(part_of(with_data(file + text("dataset: {name: babi, task: ", task, "}\n")), "dataset") ==
          "{BABI: {task: 15}}");
  CHECK(part_of(with_data(file + "dataset: {name: babi, task: qa_x}\n"), "dataset") == "{BABI: {task: qa_x}}");
  CHECK(part_of(with_data(file + "dataset: {name: shakespeare, timesteps: 30}\n"), "dataset") ==
        "{Shakespeare: {steps: 30}}");
  CHECK(part_of(with_data(file + "dataset: Iris\n"), "dataset") == "Iris");
  CHECK(part_of(with_data(file + "dataset: i1k\n"), "dataset") == "{Shards: {path: i1k, size: 256, normalize: false}}");
}

TEST_CASE("i1k of 1.x: crops, flips and the order of images are those that the file asks for") {
  const auto made = [](const std::string& keys) {
    return with_data("epochs: 1\nlayers: [{type: Affine, nout: 3}]\ndataset: {name: i1k" + keys + "}\n");
  };
  CHECK(part_of(made(", inner_size: 200"), "augment") == "[{RandomCrop: {size: 200}}, Flip]");
  CHECK(part_of(made(", inner_size: 200, do_transforms: false"), "augment") == "[{CenterCrop: {size: 200}}]");
  CHECK(part_of(made(""), "shuffle") == "absent");
  CHECK(part_of(made(", shuffle: false"), "shuffle") == "false");
  const Spec s = made(", train_config: {image: {height: 200, width: 180, scale: [0.5, 1], flip_enable: false}}");
  CHECK(part_of(s, "augment") == "[{RandomCrop: {size: [200, 180]}}]");
  REQUIRE(s.conversion.warnings.size() == 1);
  CHECK(s.conversion.warnings[0].text ==
        "'train_config.image.scale' of i1k's loader is left out; `augment` says what changes images here");
  const Spec more = made(
      ", train_config: {manifest_filename: a.csv, macrobatch_size: 50, subset_percent: 10, image: {height: 200, "
      "lighting: "
      "[0, 0.1]}}");
  CHECK(
      more.conversion.warnings.at(0).text ==
      "'train_config.subset_percent', 'train_config.image.lighting' of i1k's loader are left out; `augment` says what "
      "changes images here");
  CHECK(made(", train_config: {cache_directory: a, image: {height: 200}}").conversion.warnings.empty());
  CHECK(made(", train_config: {type: 'image,label', image: {height: 200}}").conversion.warnings.empty());
  CHECK(made(", scale_range: [256, 384]").conversion.warnings.size() == 1);
}

TEST_CASE("CIFAR-10 of 1.x: contrast is normalised before other augmentations, classes are padded") {
  const std::string layers = "epochs: 2\nlayers: [{type: Affine, nout: 16}]\n";
  const Spec s =
      with_data(layers + "dataset: {name: cifar10, contrast_normalize: true, whiten: false, pad_classes: true}\n");
  CHECK(part_of(s, "dataset") == "{CIFAR10: {pad_classes: true}}");
  CHECK(part_of(s, "augment") == "[ContrastNormalize]");
  CHECK(s.notes[0] == "m.yaml:3:46: 'contrast_normalize' is ContrastNormalize of augment");
  const Spec others = with_data(layers + "dataset: {name: cifar10, contrast_normalize: yes}\naugment: [Flip]\n");
  CHECK(part_of(others, "augment") == "[ContrastNormalize, Flip]");
  CHECK(part_of(others, "dataset") == "CIFAR10");
  const Spec none = with_data(layers + "dataset: {name: cifar10, contrast_normalize: false}\n");
  CHECK(part_of(none, "dataset") == "CIFAR10");
  CHECK(part_of(none, "augment") == "absent");
  const Spec white =
      with_data(layers + "dataset: {name: cifar10, whiten: true, contrast_normalize: true}\naugment: Flip\n");
  CHECK(part_of(white, "augment") == "[ContrastNormalize, Whiten, Flip]");
  CHECK(white.notes[1] == "m.yaml:3:34: 'whiten' is Whiten of augment");
  // CIFAR10 refuses the key.
  CHECK(part_of(with_data(layers + "dataset: {name: cifar10, whiten: maybe}\n"), "dataset") ==
        "{CIFAR10: {whiten: maybe}}");
}
