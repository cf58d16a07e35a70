// An experiment of neon 0.9, in parts.
#pragma once
#include <string>

#include "neon/spec/comments.h"
#include "neon/spec/spec.h"
#include "tests/spec/messages.h"

namespace neon_test {

inline std::string old_error(const std::string& text) {
  return message_of([&] { neon::spec_from_text(text, "o.yaml"); });
}

// An experiment with these parts; {} stands for each.
struct OldParts {
  std::string dataset = "!obj:datasets.MNIST {}";
  std::string layers =
      "!obj:layers.FCLayer {name: h, nout: 10, activation: !obj:transforms.Logistic {}, lrule_init: *r, weight_init: "
      "*w},";
  std::string data = "nout: 784";
  std::string init = "!obj:params.GaussianValGen {scale: 0.01}";
  std::string rule = "{type: gradient_descent, lr_params: {learning_rate: 0.1}}";
  std::string cost = "cost: !obj:transforms.CrossEntropy {}";
  std::string model = "num_epochs: 3, batch_size: 8";
  std::string rest = "";

  std::string text() const {
    return "!obj:experiments.FitPredictErrorExperiment {\n  weight_init: &w " + init + ",\n  lrule: &r " + rule +
           ",\n  dataset: " + dataset + ",\n  model: !obj:models.MLP {" + model +
           ", layers: [\n    &d !obj:layers.DataLayer {" + data + "},\n    " + layers +
           "\n    !obj:layers.CostLayer {ref_layer: *d, " + cost + "}]},\n  " + rest + "}\n";
  }
  neon::Spec spec() const { return neon::spec_from_text(text(), "o.yaml"); }
  std::string part(const char* key) const {
    const neon::Spec made = spec();
    const neon::Setting* found = made.root.find(key);
    return found ? found->to_string() : "absent";
  }
  std::string error() const { return old_error(text()); }
};

inline bool has_note(const neon::Spec& spec, const std::string& words) {
  for (const std::string& note : spec.notes)
    if (note.find(words) != note.npos) return true;
  return false;
}

}  // namespace neon_test
