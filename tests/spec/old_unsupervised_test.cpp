// Boltzmann machines, belief nets and balanced nets of neon 0.9, translated.
#include <catch2/catch.hpp>

#include "tests/spec/old_parts.h"

using namespace neon;
using namespace neon_test;
using Catch::Contains;

TEST_CASE("0.9: Boltzmann machines and belief nets") {
  const auto root = [](const std::string& model, const std::string& more = "") {
    const std::string rbm = "!obj:layers.RBMLayer {name: ";
    return spec_from_text("!obj:experiments.FitExperiment {dataset: !obj:datasets.MNIST {}, model: !obj:models." +
                              model + " {num_epochs: 2, batch_size: 10, layers: [!obj:layers.DataLayer {nout: 784}, " +
                              rbm + "a, nin: 784, nout: 50}, " + rbm + "b, nout: 20" + more + "}]}}",
                          "o.yaml")
        .root;
  };
  const Setting net = root("DBN");
  CHECK(net.find("rule")->to_string() == "ContrastiveDivergence");
  CHECK(net.find("phases")->to_string() ==
        "[{name: machine 1, epochs: 2, layers: [{RBM: {name: a, nout: 50, init: {Gaussian: {scale: 0.01}}}}]}, {name: "
        "machine 2, epochs: 2}]");
  CHECK(!net.find("epochs"));
  CHECK_THAT(message_of([&] { root("RBM"); }), Contains("models.RBM trains its last machine alone; write models.DBN"));
  CHECK(root("DBN", ", activation: !obj:transforms.Logistic {}").to_string() == net.to_string());
  CHECK_THAT(message_of([&] { root("RBM", ", activation: !obj:transforms.Tanh {}"); }), Contains("RBM are logistic"));
  CHECK_THAT(message_of([&] { root("RBM", ", batch_norm: True"); }), Contains("an RBM takes no batch_norm"));
  const std::string rule =
      ", lrule_init: {type: gradient_descent_pretrain, lr_params: {learning_rate: 0.1, pretrain_learning_rate: 0.003}}";
  const Setting two = root("DBN", rule);
  CHECK(two.find("optimizer")->to_string() == "{GradientDescentMomentum: {learning_rate: 0.003}}");
  CHECK(two.find("phases")->items[0].find("optimizer")->to_string() ==
        "{GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0.9}}");
}

TEST_CASE("0.9: one Boltzmann machine") {
  const Spec spec = spec_from_text(
      "!obj:experiments.FitExperiment {dataset: !obj:datasets.MNIST {}, model: !obj:models.RBM {num_epochs: 2, "
      "batch_size: 10, layers: [!obj:layers.DataLayer {nout: 784}, !obj:layers.RBMLayer {name: a, nout: 50, "
      "lrule_init: "
      "{type: gradient_descent_pretrain, lr_params: {learning_rate: 0.1, pretrain_learning_rate: 0.003}}}]}}",
      "o.yaml");
  CHECK(spec.root.find("epochs")->to_string() == "2");
  CHECK_FALSE(has_note(spec, "no bias: 0.9 had biases only"));
  CHECK(spec.root.find("optimizer")->to_string() == "{GradientDescentMomentum: {learning_rate: 0.1}}");
  CHECK(has_note(spec, "'pretrain_learning_rate' is left out: the model has no phase of pre-training"));
}

TEST_CASE("0.9: metrics of a machine, which compares no outputs, are left out with a warning") {
  const Spec spec = spec_from_text(
      "!obj:experiments.FitPredictErrorExperiment {dataset: !obj:datasets.MNIST {}, metrics: {train: "
      "[!obj:metrics.MSE {}], test: [!obj:metrics.MSE {}]}, model: !obj:models.RBM {num_epochs: 2, batch_size: 10, "
      "layers: [!obj:layers.DataLayer {nout: 784}, !obj:layers.RBMLayer {name: a, nout: 50}]}}",
      "o.yaml");
  CHECK((!spec.root.find("metrics") && !spec.root.find("train_metrics")));
  REQUIRE(spec.conversion.warnings.size() == 1);
  CHECK(spec.conversion.warnings[0].text ==
        "metrics are left out: a rule trains this net, and reports results of its own");
}

TEST_CASE("0.9: a balanced net has an output for its class, one for its sample, and a penalty between") {
  const std::string cost = "!obj:layers.CostLayer {ref_layer: *d, ";
  const auto root = [&](const std::string& by_class, const std::string& style, const std::string& label = "output") {
    const std::string layers =
        "[&d !obj:layers.DataLayer {nout: 784}, &h !obj:layers.FCLayer {name: h, nout: 50}, &u !obj:layers.FCLayer "
        "{name: u, nout: 14, activation: !obj:transforms.Softmax {}}, !obj:layers.FCLayer {name: r, nout: 784}, " +
        cost + "ref_label: " + label + ", cost: !obj:transforms.SumSquaredDiffs {}}]";
    return spec_from_text(
               "!obj:experiments.FitPredictErrorExperiment {dataset: !obj:datasets.MNIST {}, model: "
               "!obj:models.Balance "
               "{num_epochs: 2, batch_size: 10, layers: " +
                   layers + ", classlayers: " + by_class + ", stylelayers: " + style +
                   "}, metrics: {test: [!obj:metrics.MisclassRate {}]}}",
               "o.yaml")
        .root;
  };
  const std::string by_class =
      "[*u, !obj:layers.SliceLayer {end_idx: 10}, " + cost + "cost: !obj:transforms.CrossEntropy {}}]";
  const std::string penalty = cost + "cost: !obj:transforms.XCovariance {blkidx: 10, scale: 0.5}}]";
  const Setting net = root(by_class, "[*u, " + penalty);
  CHECK(net.find("dataset")->to_string() == "{MNIST: {reconstruct: true, fallback: Digits}}");
  CHECK(net.find("layers")->to_string() ==
        "[{Affine: {name: h, nout: 50, init: {Gaussian: {scale: 0.01}}}}, {Affine: {name: u, nout: 14, activation: "
        "Softmax, init: {Gaussian: {scale: 0.01}}}}, {XCovariance: {split: 10, scale: 0.05}}, {Affine: {name: r, nout: "
        "784, init: {Gaussian: {scale: 0.01}}}}, {Slice: {inputs: u, name: balanced0, end_idx: 10}}]");
  CHECK(net.find("outputs")->to_string() ==
        "{sample: {cost: SumSquared, layer: r}, class: {cost: CrossEntropyMulti, layer: balanced0, metrics: "
        "[Misclassification]}}");
  CHECK(!net.find("cost"));
  CHECK(!net.find("metrics"));
  // The factor of one of several costs is its weight.
  const std::string scaled = "[*u, !obj:layers.SliceLayer {end_idx: 10}, " + cost +
                             "cost: !obj:transforms.CrossEntropy {scale: 0.3, epsilon: 0.1}}]";
  CHECK_THAT(root(scaled, "[*u, " + penalty).find("outputs")->to_string(),
             Contains("class: {cost: CrossEntropyMulti, layer: balanced0, weight: 0.3, metrics"));
  const auto refused = [&](const std::string& a, const std::string& b, const std::string& label = "output") {
    return message_of([&] { root(a, b, label); });
  };
  CHECK_THAT(refused("[" + cost + "cost: !obj:transforms.CrossEntropy {}}]", "[*u, " + penalty),
             Contains("classlayers: expected a list: aliases of the layers in `layers`"));
  CHECK_THAT(refused("[*u, " + penalty, "[*u, " + penalty),
             Contains("one of classlayers and stylelayers needs a cost that compares with the labels"));
  CHECK_THAT(refused(by_class, by_class), Contains("two costs compare with the class"));
  CHECK_THAT(refused(by_class, "[*u, !obj:layers.FCLayer {nout: 3}, " + penalty),
             Contains("stylelayers: XCovariance is of the layer at which the path begins"));
  CHECK_THAT(refused(by_class, "[*u, " + penalty, "targets"), Contains("it needs ref_label: output"));
  // A path may name the layers before the one at which it begins, in their order.
  const std::string whole = "[*d, *h, " + by_class.substr(1), part = "[*h, *u, " + penalty;
  CHECK(root(whole, part).find("layers")->to_string() == net.find("layers")->to_string());
  CHECK(root(whole, part).find("outputs")->to_string() == net.find("outputs")->to_string());
  CHECK_THAT(refused("[*d, " + by_class.substr(1), part), Contains("classlayers: expected a list: aliases"));
}

TEST_CASE("0.9: models.Autoencoder has its samples as targets, with a cost of its own or a cost layer") {
  const auto root = [](const std::string& keys, const std::string& end) {
    return spec_from_text(
               "!obj:experiments.FitExperiment {dataset: !obj:datasets.MNIST {}, model: !obj:models.Autoencoder "
               "{num_epochs: 2, batch_size: 10, " +
                   keys +
                   "layers: [!obj:layers.DataLayer {nout: 784}, !obj:layers.FCLayer {name: r, nout: 784, activation: "
                   "!obj:transforms.Logistic {}}" +
                   end + "]}}",
               "o.yaml")
        .root;
  };
  const std::string cost = "cost: !obj:transforms.CrossEntropy {}";
  for (const Setting& net : {root(cost + ", ", ""), root("", ", !obj:layers.CostLayer {" + cost + "}")}) {
    CHECK(net.find("dataset")->to_string() == "{MNIST: {autoencoder: true, fallback: Digits}}");
    CHECK(net.find("layers")->to_string() ==
          "[{Affine: {name: r, nout: 784, activation: Logistic, init: {Gaussian: {scale: 0.01}}}}]");
    CHECK(net.find("cost")->to_string() == "CrossEntropyBinary");
    CHECK(net.find("optimizer"));
    CHECK(net.find("epochs")->value == "2");
  }
  CHECK_THAT(message_of([&] { root("", ""); }), Contains("models.Autoencoder needs 'cost', or a cost layer"));
}
