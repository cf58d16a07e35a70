// Sequences that a beam finds: those that lists in Python find, the best of all there are, and none that padding
// changes.
#include "models/label_search.h"

#include <cmath>

#include "tests/models/label_pairs.h"

using namespace neon;
using namespace neon_test;
using Catch::Contains;

namespace {

void replace_layers(Setting& net, const Setting& layers) {
  for (auto& entry : net.entries)
    if (entry.key == "layers") entry.value = layers;
}

// Sequence `number` of `steps` labels, when all are counted.
std::vector<int64_t> sequence_of(int64_t number, int64_t steps) {
  std::vector<int64_t> out;
  for (int64_t t = 0; t < steps; ++t, number /= kEndings) out.push_back(number % kEndings);
  return out;
}

// For each string the likeliest of all sequences of `steps` labels, and its log-probability: the net reads each of them
// as a target.
struct Best {
  std::vector<int64_t> labels;
  double score = -1e300;
};
std::vector<Best> best_of_all(const std::string& layers, int64_t steps) {
  const auto count = int64_t(std::pow(kEndings, steps));
  NetData data = strings(5, count);
  for (int64_t i = 0; i < data.targets.elements(); ++i) data.targets.set(i, -1);
  for (int64_t i = 0; i < count * kStrings; ++i) {
    const auto labels = sequence_of(i / kStrings, steps);
    for (int64_t t = 0; t < steps; ++t) data.targets.set(i * kLabels + t, double(labels[size_t(t)]));
  }
  const Tensor y = evaluated(layers, data, false, DType::f64);
  std::vector<Best> out(kStrings);
  for (int64_t i = 0; i < count * kStrings; ++i) {
    const auto labels = sequence_of(sample_of_row(i) / kStrings, steps);
    double score = 0;
    for (int64_t t = 0; t < steps; ++t) score += std::log(y.at((i * kLabels + t) * kEndings + labels[size_t(t)]));
    Best& best = out[size_t(i % kStrings)];
    if (score > best.score) best = {labels, score};
  }
  return out;
}

}  // namespace

TEST_CASE("beams find the sequences of the golden files, and wide ones the best of all") {
  for (Setting net : golden("models/golden/beams.json").items) {
    const std::vector<Setting> searches = at(net, "searches").items;
    for (const Setting& search : searches)
      for (const Arithmetic& arithmetic : arithmetics()) {
        if (size_of(arithmetic.dtype) == 2) continue;
        replace_layers(net, at(search, "layers"));
        INFO(at(net, "title").value << ", " << arithmetic.name << ", search " << (&search - searches.data()));
        predicts(GoldenNet(net, arithmetic.dtype), arithmetic, at(search, "predicted"));
      }
  }
}

TEST_CASE("a beam that holds all beginnings finds the likeliest of all sequences, whatever the decoder is made of") {
  const std::vector<std::string> greedy = pairs(), wide = pairs(", steps: 3, beams: 36");
  bool differs = false;
  for (size_t i = 0; i < wide.size(); ++i) {
    INFO(wide[i]);
    const std::vector<Best> best = best_of_all(greedy[i], 3);
    const Tensor found = evaluated(wide[i], strings(5), true, DType::f64),
                 likeliest = evaluated(greedy[i], strings(5), true, DType::f64);
    REQUIRE(found.shape() == Shape{kStrings, 3});
    for (int64_t n = 0; n < kStrings; ++n)
      for (int64_t t = 0; t < 3; ++t) {
        INFO(n << ", step " << t);
        CHECK(found.at(n * 3 + t) == best[size_t(n)].labels[size_t(t)]);
        differs |= found.at(n * 3 + t) != likeliest.at(n * kLabels + t);
      }
  }
  CHECK(differs);
}

TEST_CASE("where each step of a sequence has a label, a decoder predicts as many labels as there are steps") {
  constexpr int64_t kCounts[kStrings] = {5, 1, 3, 2}, kOfSteps = 0;
  const std::vector<std::string> greedy = pairs(), wide = pairs(", steps: 3, beams: 36");
  for (size_t i = 0; i < greedy.size(); ++i) {
    INFO(greedy[i]);
    const Tensor all = evaluated(greedy[i], strings(kLabels), true, DType::f64),
                 own = evaluated(greedy[i], strings(kLabels), true, DType::f64, kOfSteps),
                 found = evaluated(wide[i], strings(kLabels), true, DType::f64, kOfSteps);
    REQUIRE((own.shape() == all.shape() && found.shape() == Shape{kStrings, 3}));
    std::vector<std::vector<Best>> best;
    for (int64_t steps = 1; steps <= 3; ++steps) best.push_back(best_of_all(greedy[i], steps));
    for (int64_t n = 0; n < kStrings; ++n) {
      const int64_t count = kCounts[sample_of_row(n)], fits = std::min<int64_t>(count, 3);
      for (int64_t t = 0; t < kLabels; ++t)
        CHECK(own.at(n * kLabels + t) == (t < count ? all.at(n * kLabels + t) : -1));
      const std::vector<int64_t>& labels = best[size_t(fits - 1)][size_t(n)].labels;
      for (int64_t t = 0; t < 3; ++t) CHECK(found.at(n * 3 + t) == (t < fits ? double(labels[size_t(t)]) : -1));
    }
  }
}

TEST_CASE("padding of what an encoder reads changes no beam") {
  for (const std::string& layers : pairs(", beams: 3, length_penalty: 1"))
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
      INFO(layers << " " << name_of(dtype));
      const Tensor little = evaluated(layers, strings(5), true, dtype),
                   more = evaluated(layers, strings(9), true, dtype);
      for (int64_t i = 0; i < little.elements(); ++i) CHECK(little.at(i) == more.at(i));
    }
}

TEST_CASE("beams without probabilities are refused") {
  const std::string cells = layer_of("GRU", "output_size: 4");
  std::string layers = pair_of(cells, cells, ", beams: 2");
  layers.replace(layers.find("Softmax"), 7, "Logistic");
  CHECK_THROWS_WITH(evaluated(layers, strings(5), true, DType::f32),
                    Contains("beams compare sequences by their probabilities, but the decoder's last layer does not"));
}
