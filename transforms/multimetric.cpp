// MultiMetric: a metric of one of a net's outputs.
#include "neon/core/key_error.h"
#include "transforms/metric.h"

namespace neon {

namespace {

struct MultiMetricParams {
  Made<Metric> metric;
  int64_t index = 0;
  static void describe(auto&& p) {
    p("metric", &MultiMetricParams::metric, "Metric to compute.", Required{});
    p("index", &MultiMetricParams::index,
      "Number of the output: 0, the last layer's; 1 and more, those of a Tree's branches.", at_least(0), Required{});
  }
};
// neon compared the output with itself; here it is compared with the target.
struct MultiMetric : Parametrized<Metric, MultiMetricParams> {
  explicit MultiMetric(MultiMetricParams given) : Parametrized(std::move(given)) {
    if (params.metric->of_sequences() || params.metric->of_objects())
      fail(ErrorKind::config, "metric: compares what the whole net predicts, ",
           params.metric->of_objects() ? "objects" : "sequences of labels",
           "; name it in metrics by itself, without MultiMetric");
  }
  // The same metric may be measured of several outputs.
  std::vector<Result> results() const override {
    std::vector<Result> out = params.metric->results();
    for (Result& result : out) result.name += text("_", params.index);
    return out;
  }
  std::vector<Expr> sums_of_all(const std::vector<Expr>& outputs, Expr t, Expr weight) const override {
    if (params.index >= int64_t(outputs.size())) fail_about("metrics", too_few(outputs.size()));
    return params.metric->sums(outputs[size_t(params.index)], t, weight);
  }
  bool keeps_samples() const override { return params.metric->keeps_samples(); }
  bool of_two_kinds() const override { return params.metric->of_two_kinds(); }
  bool in_own_units(int rules) const override { return params.metric->in_own_units(rules); }
  std::vector<double> finish(const std::vector<std::vector<double>>& sums, double samples) const override {
    return params.metric->finish(sums, samples);
  }
  std::string objection(int64_t outputs, int64_t classes) const override {
    return params.metric->objection(outputs, classes);
  }
  std::string objection(const std::vector<OutputForm>& outputs, int64_t classes) const override {
    if (params.index >= int64_t(outputs.size())) return too_few(outputs.size());
    return params.metric->objection(outputs[size_t(params.index)].width, classes);
  }

 protected:
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override { return params.metric->sums(y, t, weight); }

 private:
  std::string too_few(size_t outputs) const {
    return text("MultiMetric's index is ", params.index, ", and the net has ", outputs,
                outputs == 1 ? " output" : " outputs", ", counted from 0");
  }
};
NEON_REGISTER(Metric, MultiMetric, "A metric of one of the outputs of a net with several.");

}  // namespace

}  // namespace neon
