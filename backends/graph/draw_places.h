// Which numbers of a random stream the elements of an array take.
#pragma once
#include <limits>

#include "backends/graph/graph.h"

namespace neon {

// Element e takes number first + e. With `lengths`, outermost first, each run of so many elements begins `strides`
// numbers after the run before, and the innermost runs lie together. Longer runs then change no number of the elements
// that they had before.
struct DrawPlaces {
  int64_t first = 0;
  std::vector<int64_t> lengths = {}, strides = {};

  uint64_t of(int64_t element) const {
    auto place = uint64_t(first);
    for (size_t i = 0; i < lengths.size(); ++i) {
      place += uint64_t(element / lengths[i]) * uint64_t(strides[i]);
      element %= lengths[i];
    }
    return place + uint64_t(element);
  }
  // How many elements from this one on have numbers that follow one another.
  int64_t run_from(int64_t element) const {
    if (lengths.empty()) return std::numeric_limits<int64_t>::max();
    return lengths.back() - element % lengths.back();
  }
};

// How many numbers a sample has for all its steps, or a head of attention for all its weights; and a query for its
// keys. A longer sequence would share numbers with the next.
constexpr int64_t kDrawsOfSample = int64_t(1) << 40, kDrawsOfQuery = int64_t(1) << 20;

// Samples of so many elements, however many steps these have.
inline DrawPlaces draws_by_sample(int64_t first_sample, int64_t elements) {
  return {first_sample * kDrawsOfSample, {elements}, {kDrawsOfSample}};
}

// Weights (N,H,T,S) of `queries` and `keys`.
inline DrawPlaces draws_of_weights(int64_t first_sample, int64_t heads, int64_t queries, int64_t keys) {
  return {first_sample * heads * kDrawsOfSample, {queries * keys, keys}, {kDrawsOfSample, kDrawsOfQuery}};
}

// As uniform() of expression.h draws, at those places.
Value uniform(Graph& graph, const Shape& shape, uint64_t seed, const std::string& stream, const DrawPlaces& places);
// The places that a node's attributes name.
inline DrawPlaces draw_places(const Attributes& attributes) {
  DrawPlaces out;
  if (attributes.has("first")) out.first = attributes.integer("first");
  if (attributes.has("lengths"))
    out.lengths = attributes.integers("lengths"), out.strides = attributes.integers("strides");
  return out;
}

}  // namespace neon
