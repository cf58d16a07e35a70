// MeanAveragePrecision, by the rules of the PASCAL VOC challenges (Everingham et al. 2010).
#include <algorithm>
#include <cmath>
#include <map>

#include "transforms/metric.h"

namespace neon {

namespace {

struct AveragePrecisionParams {
  double overlap = 0.5;
  std::string points = "all";
  static void describe(auto&& p) {
    p("overlap", &AveragePrecisionParams::overlap,
      "Least overlap (intersection over union) of a detection with the object that it finds.", open_closed(0, 1));
    p("points", &AveragePrecisionParams::points,
      "Recalls at which the precision is averaged: all, the area under the curve, as VOC does since 2010; or 11, the "
      "tenths from 0 to 1, as until 2009.",
      one_of({"all", "11"}));
  }
};

struct Object {
  const double* corners;
  bool difficult, found = false;
};
struct Detection {
  double score;
  const double* corners;
  size_t sample;
};

double overlap_of_corners(const double* a, const double* b) {
  const double width = std::min(a[2], b[2]) - std::max(a[0], b[0]),
               height = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (width <= 0 || height <= 0) return 0;
  const double shared = width * height;
  return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared);
}

// The average precision of one class, whose objects are those of each sample; not a number without any.
double average_precision(std::vector<std::vector<Object>> objects, std::vector<Detection> detections, double least,
                         bool all_points) {
  double positives = 0;
  for (const auto& sample : objects)
    for (const Object& object : sample) positives += !object.difficult;
  if (positives == 0) return std::nan("");
  std::ranges::stable_sort(detections, [](const Detection& a, const Detection& b) { return a.score > b.score; });
  double right = 0, wrong = 0;
  std::vector<double> recalls, precisions;
  for (const Detection& detection : detections) {
    Object* best = nullptr;
    double most = least;
    for (Object& object : objects[detection.sample])
      if (const double overlap = overlap_of_corners(detection.corners, object.corners);
          best ? overlap > most : overlap >= least)
        best = &object, most = overlap;
    if (best && best->difficult) continue;  // neither right nor wrong
    const bool finds = best && !best->found;
    if (finds) best->found = true;
    right += finds, wrong += !finds;
    recalls.push_back(right / positives), precisions.push_back(right / (right + wrong));
  }
  // The precision at a recall is the best at this recall or a higher one.
  for (size_t i = precisions.size(); i-- > 1;) precisions[i - 1] = std::max(precisions[i - 1], precisions[i]);
  double sum = 0;
  if (all_points) {
    for (size_t i = 0; i < recalls.size(); ++i) sum += (recalls[i] - (i ? recalls[i - 1] : 0)) * precisions[i];
    return sum;
  }
  for (int tenth = 0; tenth <= 10; ++tenth) {
    const auto at = std::ranges::find_if(recalls, [&](double recall) { return recall * 10 >= tenth - 1e-9; });
    if (at != recalls.end()) sum += precisions[size_t(at - recalls.begin())];
  }
  return sum / 11;
}

struct MeanAveragePrecision : Parametrized<Metric, AveragePrecisionParams> {
  using Parametrized::Parametrized;
  std::vector<Result> results() const override { return {{"MeanAveragePrecision", true, Better::higher}}; }
  bool keeps_samples() const override { return true; }
  bool of_objects() const override { return true; }
  std::vector<Expr> sums_of_boxes(Expr detections, Expr boxes, Expr weight) const override {
    return {detections, boxes, weight};
  }
  std::vector<Expr> partial(Expr y, Expr, Expr) const override { return {y}; }

  std::vector<double> finish(const std::vector<std::vector<double>>& s, double) const override {
    const size_t samples = s[2].size(), found = s[0].size() / samples, given = s[1].size() / samples;
    struct OfClass {
      std::vector<std::vector<Object>> objects;
      std::vector<Detection> detections;
    };
    std::map<double, OfClass> classes;
    for (size_t i = 0; i < samples; ++i) {
      if (s[2][i] == 0) continue;
      for (size_t at = i * given; at < (i + 1) * given; at += kBoxNumbers) {
        if (s[1][at] < 0) continue;
        auto& objects = classes[s[1][at]].objects;
        objects.resize(samples);
        objects[i].push_back({&s[1][at + 1], s[1][at + 5] > 0.5});
      }
    }
    for (size_t i = 0; i < samples; ++i)
      for (size_t at = i * found; s[2][i] > 0 && at < (i + 1) * found; at += kDetectionNumbers)
        if (const auto of = classes.find(s[0][at]); of != classes.end())
          of->second.detections.push_back({s[0][at + 1], &s[0][at + 2], i});
    double sum = 0, count = 0;
    for (auto& [label, of] : classes) {
      const double each =
          average_precision(std::move(of.objects), std::move(of.detections), params.overlap, params.points == "all");
      if (!std::isnan(each)) sum += each, ++count;
    }
    return {count > 0 ? sum / count : std::nan("")};
  }
  std::string objection(int64_t, int64_t) const override { return ""; }
};
NEON_REGISTER(Metric, MeanAveragePrecision,
              "Average precision of the detections of each class, by the rules of PASCAL VOC, and the mean of those "
              "classes that have objects. Difficult objects count neither way.",
              {"MeanAP", "mAP"});

}  // namespace

}  // namespace neon
