// Model-based search by dlib's global optimiser (Malherbe and Vayatis 2017, with steps of a trust region): an upper
// bound of the function from its steepness so far, and a quadratic model about the best point, take turns.
#include <dlib/global_optimization/global_function_search.h>

#include <algorithm>
#include <map>

#include "neon/search/bayes_part.h"

namespace neon {

namespace {

using Column = dlib::matrix<double, 0, 1>;

// The outcome of a net is noisy by more than the 0.001 of its range that dlib expects.
constexpr double kRelativeNoise = 0.01;

class BayesSampler : public Sampler {
 public:
  BayesSampler(const Space& space, uint64_t seed) : space_(space), seed_(seed) {
    for (size_t k = 0; k < space.size(); ++k)
      if (space.lower(k) < space.upper(k)) free_.push_back(k);
  }

  std::optional<Point> ask(int64_t trial) override {
    if (free_.empty()) return space_.point({});
    if (!worst_ && !failed_.empty()) return random_point(space_, seed_, trial);
    if (!search_) begin();
    auto [at, added] = asked_.emplace(trial, search_->get_next_x());
    Point out = space_.point({});
    for (size_t i = 0; i < free_.size(); ++i) {
      const size_t k = free_[i];
      out[k] = std::clamp(at->second.x()(long(i)), space_.lower(k), space_.upper(k));
    }
    return out;
  }

  // A trial without an outcome counts as the worst so far, so that the search keeps away from its point. As long as all
  // have failed there is no worst, and the next points are drawn.
  void tell(int64_t trial, const Point& point, std::optional<double> outcome) override {
    if (outcome) worst_ = worst_ ? std::max(*worst_, *outcome) : *outcome;
    auto request = asked_.extract(trial);
    if (!worst_) return failed_.push_back(column(point));
    const double value = -outcome.value_or(*worst_);
    told_.emplace_back(column(point), value);
    if (request && failed_.empty()) return request.mapped().set(value);
    // A point that dlib did not choose, or failures that it has not heard of: it begins anew with all that is known.
    for (const Column& failed : failed_) told_.emplace_back(failed, -*worst_);
    failed_.clear(), search_.reset(), asked_.clear();
  }

 private:
  Column column(const Point& point) const {
    Column out(long(free_.size()));
    for (size_t i = 0; i < free_.size(); ++i) out(long(i)) = point[free_[i]];
    return out;
  }

  void begin() {
    Column lower(long(free_.size())), upper(long(free_.size()));
    std::vector<bool> whole;
    for (size_t i = 0; i < free_.size(); ++i) {
      lower(long(i)) = space_.lower(free_[i]), upper(long(i)) = space_.upper(free_[i]);
      whole.push_back(space_.is_whole(free_[i]));
    }
    const std::vector<dlib::function_spec> specs = {{lower, upper, whole}};
    search_ = std::make_unique<dlib::global_function_search>(
        specs, std::vector<std::vector<dlib::function_evaluation>>{told_}, kRelativeNoise);
    search_->set_seed(time_t(seed_ + told_.size()));  // or it would draw again what it has drawn before
  }

  const Space space_;
  const uint64_t seed_;
  std::vector<size_t> free_;                     // ranges of more than one value
  std::vector<dlib::function_evaluation> told_;  // all outcomes
  std::vector<Column> failed_;                   // points that failed before there was an outcome
  std::unique_ptr<dlib::global_function_search> search_;
  std::map<int64_t, dlib::function_evaluation_request> asked_;  // by trial
  std::optional<double> worst_;
};

std::unique_ptr<Sampler> make_by_dlib(const Space& space, uint64_t seed) {
  return std::make_unique<BayesSampler>(space, seed);
}

const PartRegistration<BayesPart> bayes_part({make_by_dlib}, NEON_MODULE_VERSION);

}  // namespace

}  // namespace neon
