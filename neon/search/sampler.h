// Which point a search tries next: methods that are asked for points, and told what came out of them. A method
// registers itself at the end of its own file.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "neon/search/space.h"

namespace neon {

class Sampler {
 public:
  virtual ~Sampler() = default;
  // The point of a trial, which is numbered from 1; nothing where all are tried. Points of former trials, told before
  // the first question, count.
  virtual std::optional<Point> ask(int64_t trial) = 0;
  // Why this search cannot go on from an earlier trial at that point; "" where it can.
  virtual std::string objection(int64_t trial, const Point& point) const {
    (void)trial, (void)point;
    return "";
  }
  // A line for the user, before the first trial; "" where there is nothing to say.
  virtual std::string note() const { return ""; }
  // The outcome of a trial, less being better; nothing where it has none, as after a failure.
  virtual void tell(int64_t trial, const Point& point, std::optional<double> outcome) {
    (void)trial, (void)point, (void)outcome;
  }
};

struct SearchMethod {
  std::string name, sentence;
  bool prunes;  // ends trials early, by its own rule
  // `trials`: as many as the search may make.
  std::unique_ptr<Sampler> (*make)(const Space& space, int64_t trials, uint64_t seed);
};

// Sorted by name.
const std::vector<SearchMethod>& search_methods();
// A config error for an unknown name.
const SearchMethod& find_method(const std::string& name);

struct MethodRegistration {
  explicit MethodRegistration(const SearchMethod& method);
};

// A point drawn evenly from the space.
Point random_point(const Space& space, uint64_t seed, int64_t trial);

}  // namespace neon
