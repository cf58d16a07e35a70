#include "neon/search/sampler.h"

#include <algorithm>
#include <cmath>

#include "neon/core/error.h"
#include "neon/core/random.h"

namespace neon {

namespace {

std::vector<SearchMethod>& table() {
  static std::vector<SearchMethod> methods;
  return methods;
}

// Each trial's numbers depend on the seed and its own number alone.
class RandomSampler : public Sampler {
 public:
  RandomSampler(const Space& space, uint64_t seed) : space_(space), seed_(seed) {}
  std::optional<Point> ask(int64_t trial) override { return random_point(space_, seed_, trial); }

 private:
  const Space space_;
  const uint64_t seed_;
};

std::unique_ptr<Sampler> make_random(const Space& space, int64_t, uint64_t seed) {
  return std::make_unique<RandomSampler>(space, seed);
}

const MethodRegistration random_method({"random", "draws each trial's values evenly from the ranges", false,
                                        make_random});
const MethodRegistration halving_method({"halving",
                                         "draws values as random does, and lets only the best third of the trials go "
                                         "on after 1/9 and 1/3 of their epochs (Li et al. 2020)",
                                         true, make_random});

}  // namespace

MethodRegistration::MethodRegistration(const SearchMethod& method) {
  auto& methods = table();
  methods.insert(std::ranges::upper_bound(methods, method.name, {}, &SearchMethod::name), method);
}

const std::vector<SearchMethod>& search_methods() { return table(); }

const SearchMethod& find_method(const std::string& name) {
  std::vector<std::string> names;
  for (const SearchMethod& method : table())
    if (names.push_back(method.name); method.name == name) return method;
  fail(ErrorKind::config, in_quotes(name), " is no method of a search", did_you_mean(name, names),
       " (methods: ", join(names, ", "), ")");
}

Point random_point(const Space& space, uint64_t seed, int64_t trial) {
  Point out;
  for (size_t k = 0; k < space.size(); ++k) {
    Stream stream(seed, "search/" + space.ranges()[k].name, uint64_t(trial));
    const double low = space.lower(k), high = space.upper(k);
    out.push_back(space.is_whole(k) ? low + std::floor(stream.uniform() * (high - low + 1))
                                    : low + stream.uniform() * (high - low));
  }
  return out;
}

}  // namespace neon
