#include "neon/spec/override.h"

#include <catch2/catch.hpp>

#include "neon/spec/spec.h"
#include "tests/spec/messages.h"

using namespace neon;
using Catch::Contains;
using Catch::Equals;

namespace {

const char* const kText = R"(
dataset: MNIST
layers:
- Affine: {nout: 100, name: fc1, init: {Gaussian: {scale: 0.01}}}
- Activation: Rectlin
- Repeat: {times: 2, layers: [{Conv: {nofm: 8, name: c}}]}
- MergeSum: [[{Affine: {nout: 5, name: deep}}], [SkipNode]]
- Dropout:
- Softmax
cost: CrossEntropyMulti
optimizer: {GradientDescentMomentum: {learning_rate: 0.1}}
callbacks: [{EarlyStop: {patience: 5}}, Hist]
batch_size: 128
)";

Spec with(const std::vector<Override>& overrides) { return spec_from_text(kText, "m.yaml", overrides); }
std::string override_error(const std::string& override) {
  return message_of([&] { with({override}); });
}
std::string layer(const Spec& spec, size_t i) { return spec.root.find("layers")->items.at(i).to_string(); }

}  // namespace

TEST_CASE("values are set by key, by index, through objects, by name") {
  CHECK(with({"batch_size=64"}).root.find("batch_size")->value == "64");
  CHECK(with({"epochs = 3"}).root.find("epochs")->value == "3");
  CHECK(with({"optimizer.learning_rate=0.01"}).root.find("optimizer")->to_string() ==
        "{GradientDescentMomentum: {learning_rate: 0.01}}");
  CHECK(with({"optimizer.GradientDescentMomentum.momentum=0.9"}).root.find("optimizer")->to_string() ==
        "{GradientDescentMomentum: {learning_rate: 0.1, momentum: 0.9}}");
  CHECK(layer(with({"layers[0].nout=50"}), 0) == "{Affine: {nout: 50, name: fc1, init: {Gaussian: {scale: 0.01}}}}");
  CHECK(layer(with({"layers.fc1.init.scale=1"}), 0) ==
        "{Affine: {nout: 100, name: fc1, init: {Gaussian: {scale: 1}}}}");
  CHECK(layer(with({"layers.deep.nout=6"}), 4) == "{MergeSum: [[{Affine: {nout: 6, name: deep}}], [SkipNode]]}");
  CHECK(layer(with({"layers[3][1][0]=Flip"}), 4) == "{MergeSum: [[{Affine: {nout: 5, name: deep}}], [Flip]]}");
  CHECK(layer(with({"layers[1].Activation.slope=0.1"}), 1) == "{Activation: {Rectlin: {slope: 0.1}}}");
  CHECK(layer(with({"layers.Dropout.keep=0.5"}), 5) == "{Dropout: {keep: 0.5}}");
  CHECK(layer(with({"layers.Softmax.axis=1"}), 6) == "{Softmax: {axis: 1}}");
  CHECK(with({"callbacks.EarlyStop.patience=9"}).root.find("callbacks")->items[0].to_string() ==
        "{EarlyStop: {patience: 9}}");
  CHECK(with({"optimizer={Adam: {beta_1: 0.8}}", "optimizer.beta_2=0.9"}).root.find("optimizer")->to_string() ==
        "{Adam: {beta_1: 0.8, beta_2: 0.9}}");
  CHECK(with({"metadata={a.b: 1}", "metadata.\"a.b\"=2"}).root.find("metadata")->to_string() == "{a.b: 2}");
}

TEST_CASE("a phase goes by its name, and not by that of a layer in it") {
  const std::string text = std::string(kText) +
                           "phases: [{name: first, epochs: 2, layers: [{Affine: {nout: 3, name: last}}]}, {name: last, "
                           "epochs: 3}]\n";
  const auto phase = [&](const char* change, size_t i) {
    return spec_from_text(text, "m.yaml", {change}).root.find("phases")->items.at(i).to_string();
  };
  CHECK(phase("phases.last.epochs=7", 1) == "{name: last, epochs: 7}");
  CHECK(phase("phases.first.epochs=7", 0) == "{name: first, epochs: 7, layers: [{Affine: {nout: 3, name: last}}]}");
}

TEST_CASE("a key of an output in its short form stands beside its cost") {
  const auto outputs = [](const std::vector<Override>& overrides) {
    const std::string content = "outputs:\n  grade: CrossEntropyMulti\n  price: {cost: MeanSquared}\n";
    return spec_from_text(content, "m.yaml", overrides).root.find("outputs")->to_string();
  };
  const std::string price = ", price: {cost: MeanSquared}}";
  CHECK(outputs({"outputs.grade.class_weights=balanced"}) ==
        "{grade: {cost: CrossEntropyMulti, class_weights: balanced}" + price);
  CHECK(outputs({"outputs.grade.metrics=[Accuracy]", "outputs.grade.weight=2"}) ==
        "{grade: {cost: CrossEntropyMulti, metrics: [Accuracy], weight: 2}" + price);
  CHECK(outputs({"outputs.grade.cost.scale=0.5", "outputs.price.weight=3"}) ==
        "{grade: {cost: {CrossEntropyMulti: {scale: 0.5}}}, price: {cost: MeanSquared, weight: 3}}");
  CHECK(outputs({"outputs.grade=Focal"}) == "{grade: Focal" + price);
  // Other keys are the cost's.
  CHECK(outputs({"outputs.grade.scale=0.5"}) == "{grade: {CrossEntropyMulti: {scale: 0.5}}" + price);
  CHECK(outputs({"outputs.grade.scale=0.5", "outputs.grade.scale=2"}) ==
        "{grade: {CrossEntropyMulti: {scale: 2}}" + price);
}

TEST_CASE("indices and names are those of the file, before Repeat is expanded") {
  const Spec s = with({"layers[2].times=3", "layers.c.nofm=16", "layers[5]=Tanh"});
  CHECK(layer(s, 4) == "{Conv: {nofm: 16, name: c_3}}");
  CHECK(layer(s, 7) == "Tanh");
}

TEST_CASE("values are typed as YAML, in either notation of objects, and come from --set") {
  const Spec s = with({"layers[0].init={type: Uniform, config: {low: -1}}", "layers[0].n='10'", "layers[0].e=null",
                       "layers[0].shape=[3, 3]"});
  CHECK(layer(s, 0) ==
        "{Affine: {nout: 100, name: fc1, init: {Uniform: {low: -1}}, n: \"10\", e: null, shape: [3, 3]}}");
  const Setting& shape = *s.root.find("layers")->items[0].find("Affine")->find("shape");
  CHECK(shape.where.to_string() == "--set");
  CHECK(shape.items[1].path == "layers[0].Affine.shape[1]");
  CHECK(with({"cost={type: SumSquared}"}).root.find("cost")->to_string() == "SumSquared");
}

TEST_CASE("overrides of a 1.x file go by the converted form") {
  const Spec s = spec_from_text("layers: [{type: Affine, config: {nout: 3}}]", "m.yaml", {"layers[0].nout=5"});
  CHECK(layer(s, 0) == "{Affine: {nout: 5}}");
}

TEST_CASE("a 1.x file may be overridden by the names that it has") {
  struct Case {
    const char *override, *key, *expected;
  };
  const Case cases[] = {
      {"layers[0].config.nout=5", "layers", "[{Affine: {nout: 5, init: {Gaussian: {scale: 1}}}}]"},
      {"layers[0].config.init.config.scale=2", "layers", "[{Affine: {nout: 3, init: {Gaussian: {scale: 2}}}}]"},
      {"layers[0].config={nout: 9}", "layers", "[{Affine: {nout: 9}}]"},
      {"layers[0].init.type=Uniform", "layers", "[{Affine: {nout: 3, init: {Uniform: {scale: 1}}}}]"},
      {"layers[0].bsum=true", "layers", "[{Affine: {nout: 3, init: {Gaussian: {scale: 1}}}}]"},
      {"optimizer.type=Adagrad", "optimizer", "{Adagrad: {gradient_clip_value: 3}}"},
      {"optimizer.gradient_limit=7", "optimizer", "{RMSProp: {gradient_clip_value: 7}}"},
      {"optimizer.clip_gradients=false", "optimizer", "{RMSProp: {}}"},
      {"dataset.name=cifar10", "dataset", "CIFAR10"},
      {"dataset.validation=5", "dataset", "{MNIST: {validation: 5, fallback: Digits}}"},
      {"dataset={name: mnist, validation: 5}", "dataset", "{MNIST: {validation: 5, fallback: Digits}}"},
  };
  for (const Case& c : cases) {
    INFO(c.override);
    const Spec s = spec_from_text(
        "layers: [{type: Affine, config: {nout: 3, init: {type: Gaussian, config: {scale: 1}}}}]\n"
        "optimizer: {type: RMSProp, config: {clip_gradients: true, gradient_limit: 3}}\ndataset: {name: mnist}\n",
        "m.yaml", {c.override});
    CHECK(s.root.find(c.key)->to_string() == c.expected);
  }
}

TEST_CASE("optimizers of a MultiOptimizer go by their names, wherever it lists them") {
  const auto changed = [](const std::string& optimizer, const std::string& override) {
    return spec_from_text("layers: [{type: Affine, config: {nout: 3}}]\noptimizer: " + optimizer, "m.yaml", {override})
        .root.find("optimizer")
        ->to_string();
  };
  const std::string older =
      "{type: MultiOptimizer, config: {optimizer_mapping: {default: {type: Adam, config: {learning_rate: 1}}}}}";
  for (const char* path : {"optimizer.default.learning_rate", "optimizer.MultiOptimizer.default.learning_rate",
                           "optimizer.optimizer_mapping.default.learning_rate", "optimizer.default.Adam.learning_rate"})
    CHECK(changed(older, std::string(path) + "=0.5") ==
          "{MultiOptimizer: {optimizer_mapping: {default: {Adam: {learning_rate: 0.5}}}}}");
  CHECK(changed(older, "optimizer.default=SGD") == "{MultiOptimizer: {optimizer_mapping: {default: SGD}}}");
  CHECK(changed("{MultiOptimizer: {mapping: {default: Adam}}}", "optimizer.default.beta_1=0.5") ==
        "{MultiOptimizer: {mapping: {default: {Adam: {beta_1: 0.5}}}}}");
  CHECK(changed("{MultiOptimizer: {default: Adam}}", "optimizer.default.beta_1=0.5") ==
        "{MultiOptimizer: {default: {Adam: {beta_1: 0.5}}}}");
  CHECK_THAT(message_of([&] { changed(older, "optimizer.defualt.learning_rate=0.5"); }),
             Contains("there is no 'defualt' in optimizer.MultiOptimizer; did you mean default?"));
}

TEST_CASE("a value that replaces what an override before it gave is refused") {
  for (const auto& [first, second, lost] :
       {std::tuple{"optimizer.learning_rate=0.5", "optimizer=RMSProp", "learning_rate"},
        {"layers[0].nout=5", "layers[0]={Affine: 3}", "layers[0].Affine.nout"},
        {"layers.fc1.nout=5", "layers=[Affine: 3]", "nout"}}) {
    INFO(first << " " << second);
    CHECK_THAT(message_of([&, a = first, b = second] {
                 with({a, b});
               }),
               Contains(text("--set ", second, ": it replaces ")) && Contains(lost) &&
                   Contains(", which another --set before it gives; put this one first"));
  }
  CHECK_THAT(message_of([] {
               with({"optimizer=RMSProp", "optimizer.learning_rate=0.5", "optimizer=Adam"});
             }),
             Contains("--set optimizer=Adam: it replaces ") && Contains("learning_rate, which another --set"));
  using Given = std::vector<Override>;
  CHECK_THAT(message_of([] {
               with(Given{{"epochs=2", "o.txt"}, {"optimizer.learning_rate=0.5", "o.txt"}, "optimizer=Adam"});
             }),
             Contains("--set optimizer=Adam: it replaces optimizer.GradientDescentMomentum.learning_rate, which "
                      "o.txt: --set gives, and the lines of the file come before the command line; put this one into "
                      "the file, above that line, or take that line out"));
  CHECK_THAT(message_of([] {
               with(Given{{"optimizer.learning_rate=0.5", "o.txt"}, {"optimizer=Adam", "o.txt"}});
             }),
             Contains("o.txt: --set optimizer=Adam: it replaces ") &&
                 Contains("learning_rate, which o.txt: --set gives; put this one first"));
  CHECK_THAT(message_of([] {
               with(Given{{"epochs=2", "o.txt"}, "optimizer.learning_rate=0.5", "optimizer=Adam"});
             }),
             Contains("which another --set before it gives; put this one first"));
  with({"optimizer=RMSProp", "optimizer.learning_rate=0.5"});
  with({"optimizer={RMSProp: {learning_rate: 0.5}}", "optimizer=Adam"});
  with({"epochs=3", "epochs=4"});
}

TEST_CASE("an unknown path is told, with what is near") {
  struct Case {
    const char *override, *message;
  };
  const Case cases[] = {
      {"layers[6].nout=5", "layers has 6 items, counted from 0 as the file has them: there is no [6]"},
      {"optimzer.learning_rate=5", "there is no 'optimzer' in the top level; did you mean optimizer?"},
      {"layers[0].innit.scale=1", "there is no 'innit' in layers[0].Affine; did you mean init?"},
      {"layers.fc9.nout=1", "nothing in layers is named 'fc9'; did you mean fc1?"},
      {"layers.2.nout=1", "an index is written [2]"},
      {"layers[1].slope=1", "layers[1] is written Activation: Rectlin; to give it 'slope' too, set the whole of it"},
      {"batch_size.x=1", "batch_size is '128', which has no key 'x'"},
      {"batch_size[0]=1", "batch_size is '128', not a list, so it has no [0]"},
      {"layers[x]=1", "'x' is no index; write a number from 0 in brackets, or a name after a dot (layers.NAME)"},
      {"layers[-1]=1", "'-1' is no index"},
      {"fc1.nout=5", "there is no 'fc1' in the top level; did you mean layers.fc1 (keys: "},
      {"deep.nout=5", "did you mean layers.deep (keys: "},
      {"Dropout_0.keep=0.5", "did you mean layers.Dropout_0 (keys: "},
      {"layers[0=1", "a [ in the path is not closed"},
      {"layers[0]nout=1", "expected '.', '[' or '=' after 'layers[0]'"},
      {"layers", "no '='; expected PATH=VALUE"},
      {"=1", "a key is missing before '='"},
      {"layers.=1", "a key is missing after 'layers.'"},
      {"", "a key is missing"},
      {"epochs=", "no value after '='; write null or '' for none"},
      {"epochs=[1", "--set epochs=[1: value:1:1: the [ that opens here is not closed"},
      {"epochs={a: 1, a: 2}", "key 'a' is given twice"},
      {"epochs=!obj:x.Y {}", "neon 0.9"},
      {"define.x=1", "set them where they are used"},
      {"\"a=1", "a \" in the path is not closed"},
      {"a\xff=1", "text:1:2: byte 0xff is not UTF-8"},
      {"layers=null", "no layers are given"},
  };
  for (const Case& c : cases) {
    INFO(c.override);
    CHECK_THAT(override_error(c.override), Contains(c.message) && !Contains("\n"));
  }
  CHECK_THAT(message_of([] {
               with({"a.b=1", "layers[9]=1", "epochs=3"});
             }),
             Equals("--set a.b=1: there is no 'a' in the top level (keys: dataset, layers, cost, optimizer, callbacks, "
                    "batch_size)\n--set layers[9]=1: layers has 6 items, counted from 0 as the file has them: there "
                    "is no [9]"));
}

TEST_CASE("what overrides add stays within the limits of a file") {
  CHECK_THAT(override_error(std::string(201, 'k') + "=1"), Contains("a key is longer than 200 bytes"));
  const std::string deep = std::string(40, '[') + std::string(40, ']');
  std::string inner = "a";
  for (int i = 0; i < 39; ++i) inner += "[0]";
  CHECK(override_error("a=" + deep).empty());
  CHECK_THAT(message_of([&] { with({"a=" + deep, inner + "=" + deep}); }), Contains("more than 64 deep"));
}

TEST_CASE("a class that stands twice needs an index") {
  CHECK_THAT(message_of([] { spec_from_text("layers: [A: 1, A: 2]", "m.yaml", {"layers.A.n=1"}); }),
             Contains("'A' could be layers[0] or layers[1]; give the index"));
}

TEST_CASE("a copy by alias is changed alone") {
  const Spec s = spec_from_text("layers: [A: &a {n: 1}, B: *a]", "m.yaml", {"layers[1].n=2"});
  CHECK(s.root.find("layers")->to_string() == "[{A: {n: 1}}, {B: {n: 2}}]");
}
