// --set by the names that the net gives to layers without one, with neon's own layers, which know where layers stand.
#include <catch2/catch.hpp>

#include "neon/spec/spec.h"
#include "tests/spec/messages.h"

using namespace neon;
using Catch::Contains;

TEST_CASE("layers go by the names that the net gives them") {
  const std::string text = R"(
layers:
- Affine: {nout: 0}
- {type: neon.layers.Affine, config: {nout: 1, name: second}}
- MergeSum: {layers: [[Affine: {nout: 2}, Tanh], [Affine: {nout: 3, init: {Affinity: 3}}]]}
- Repeat: {times: 3, layers: [Affine: {nout: 4}, Repeat: {times: 2, layers: [Affine: {nout: 5}]}]}
- Repeat: {times: 1, layers: [Affine: {nout: 6}]}
- Affine
)";
  const auto changed = [&](const std::string& name) {
    const Spec before = spec_from_text(text, "m.yaml"),
               after = spec_from_text(text, "m.yaml", {"layers." + name + ".nout=99"});
    const std::string a = before.root.find("layers")->to_string(), b = after.root.find("layers")->to_string();
    std::string out;
    for (size_t i = 0, k = 0; i < a.size() && k < b.size(); ++i, ++k)
      if (a[i] != b[k]) return std::string(1, a[i]);
    return out;
  };
  CHECK(changed("Affine_0") == "0");
  CHECK(changed("Affine_1") == "1");
  CHECK(changed("Affine_2") == "2");
  CHECK(changed("Affine_3") == "3");
  CHECK(changed("Affine_13") == "6");
  const Spec bare = spec_from_text(text, "m.yaml", {"layers.Affine_14.nout=99"});
  CHECK(bare.root.find("layers")->items.at(13).to_string() == "{Affine: {nout: 99}}");
  for (const char* copy : {"Affine_4", "Affine_12"})
    CHECK_THAT(message_of([&] { changed(copy); }),
               Contains(copy + std::string("' is one of the 3 copies that layers[3] makes")) && !Contains("\n"));
  for (const char* none :
       {"Affine_15", "Affine_", "Affine_x", "Affine_00", "Affine_01", "_1", "Linear_0", "Affine_99999999999999999999"})
    CHECK_THAT(message_of([&] { changed(none); }), Contains("nothing in layers is named '" + std::string(none)));
}

TEST_CASE("what only looks like a layer is not counted") {
  const std::string before =
      "layers:\n"
      "- Affine: {nout: 4, name: Dropout, linear_name: Dropout, inputs: [Dropout, Dropout]}\n"
      "- Activation: Dropout\n"
      "- Conv: {fshape: 3, init: {Dropout: {keep: 0}}}\n";
  const auto changed = [&](const std::string& layers, const std::string& name) {
    const Spec spec = spec_from_text(before + layers, "m.yaml", {"layers." + name + ".keep=0.5"});
    std::vector<std::string> out;
    for (size_t i = 3; i < spec.root.find("layers")->items.size(); ++i)
      out.push_back(spec.root.find("layers")->items[i].to_string());
    const std::string same = spec_from_text(before, "m.yaml").root.find("layers")->to_string();
    CHECK(spec.root.find("layers")->to_string().starts_with(same.substr(0, same.size() - 1)));
    return join(out, " ");
  };
  CHECK(changed("- Dropout: {keep: 0.8}\n", "Dropout_0") == "{Dropout: {keep: 0.5}}");
  CHECK_THAT(message_of([&] { changed("- Dropout: {keep: 0.8}\n", "Dropout_1"); }),
             Contains("nothing in layers is named 'Dropout_1'"));
  CHECK(changed("- \"Dropout\"\n- Dropout\n", "Dropout_1") == "\"Dropout\" {Dropout: {keep: 0.5}}");
  // Branches: of layers alone, of lists, without the key, by an older key, one within another.
  CHECK(changed("- Sequential: Dropout\n- Dropout\n", "Dropout_1") == "{Sequential: Dropout} {Dropout: {keep: 0.5}}");
  CHECK(changed("- MergeSum: [Dropout, [Tanh, Dropout]]\n", "Dropout_1") ==
        "{MergeSum: [Dropout, [Tanh, {Dropout: {keep: 0.5}}]]}");
  CHECK(
      changed("- ListLayer: {sublayers: [Tree: {layers: [[Dropout]], alphas: [1]}, Dropout], name: Dropout}\n",
              "Dropout_1") ==
      "{ListLayer: {sublayers: [{Tree: {layers: [[Dropout]], alphas: [1]}}, {Dropout: {keep: 0.5}}], name: Dropout}}");
}
