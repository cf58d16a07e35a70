#include "datasets/balanced_order.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

using namespace neon;

namespace {

std::map<int32_t, int> counts(const std::vector<int32_t>& values) {
  std::map<int32_t, int> out;
  for (const int32_t value : values) ++out[value];
  return out;
}

}  // namespace

TEST_CASE("a balanced epoch has as many places of each class, and no sample twice more than another of its class") {
  // 90 samples of class 0, 7 of class 1, 3 of class 4; the classes between have none.
  std::vector<int32_t> labels(90, 0);
  labels.insert(labels.end(), 7, 1);
  labels.insert(labels.end(), 3, 4);
  std::set<int32_t> first_class;
  std::map<int32_t, int> left_over;
  for (int64_t epoch = 0; epoch < 30; ++epoch) {
    const std::vector<int32_t> order = balanced_order(labels, 5, epoch);
    REQUIRE(order.size() == 100);
    std::map<int32_t, int> classes;
    for (const auto& [sample, times] : counts(order)) {
      const int32_t label = labels.at(size_t(sample));
      classes[label] += times;
      // 33 or 34 places among 90, 7 and 3 samples
      const int least = label == 0 ? 1 : label == 1 ? 4 : 11;
      CHECK((times >= least && times <= (label == 0 ? 1 : least + 1)));
      if (label == 0) first_class.insert(sample);
    }
    REQUIRE(classes.size() == 3);
    for (const auto& [label, places] : classes) {
      CHECK((places == 33 || places == 34));
      left_over[label] += places - 33;
    }
    CHECK(order == balanced_order(labels, 5, epoch));
    CHECK(order != balanced_order(labels, 6, epoch));
    CHECK(order != balanced_order(labels, 5, epoch + 1));
  }
  CHECK(first_class.size() == 90);  // each epoch shows another part
  for (const auto& [label, times] : left_over) CHECK((times > 0 && times < 30));
}

TEST_CASE("a set of equal classes has each sample once in a balanced epoch") {
  std::vector<int32_t> labels;
  for (int32_t i = 0; i < 60; ++i) labels.push_back(i % 4);
  for (const auto& [sample, times] : counts(balanced_order(labels, 1, 0))) CHECK(times == 1);
}
