#include "neon/train/metrics_series.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

#include "neon/core/error.h"
#include "neon/core/text.h"

namespace neon {

namespace {

constexpr double kMaxFileBytes = double(int64_t(4) << 30);  // the file is held in memory too

}  // namespace

std::string SeriesSpec::axis() const {
  if (!x.empty() || time_markers.empty()) return x;
  return time_markers == "minibatch" ? "minibatch" : "epoch";
}

void check_series(const std::vector<SeriesSpec>& series) {
  double bytes = 0;
  std::map<std::string_view, bool> seen;
  for (const SeriesSpec& spec : series) {
    if (spec.path.empty() || spec.path.front() == '/' || spec.path.back() == '/' ||
        spec.path.find("//") != std::string::npos)
      fail(ErrorKind::config, "metrics file: a series cannot be named '", spec.path, "'; expected GROUP/NAME");
    if (!seen.emplace(spec.path, true).second)
      fail(ErrorKind::config, "metrics file: two series are named ", spec.path);
    if (spec.length < 0 || spec.width < 1 || spec.epoch_freq < 1 || spec.minibatch_freq < 1)
      fail(ErrorKind::config, "metrics file: series ", spec.path, " of ", spec.length, " points of ", spec.width,
           " numbers, each of ", spec.epoch_freq, " epochs or ", spec.minibatch_freq, " minibatches");
    bytes += double(spec.length) * double(spec.width) * double(size_of(spec.dtype));
  }
  if (bytes <= kMaxFileBytes) return;
  const auto largest = std::ranges::max_element(series, {}, [](const SeriesSpec& spec) {
    return double(spec.length) * double(spec.width) * double(size_of(spec.dtype));
  });
  fail(ErrorKind::config, "the metrics file would take ", bytes_text(bytes), ", more than ", bytes_text(kMaxFileBytes),
       "; its largest series is ", largest->path, " with ", largest->length, " points of ", largest->width,
       " numbers: record it less often");
}

int64_t add_places(SeriesSpec& spec, const StoredSeries* old) {
  if (!old || spec.axis() != "epoch" || old->spec.axis() != "epoch" || old->spec.epoch_freq < 1) return 1;
  const int64_t stride = spec.epoch_freq / std::gcd(spec.epoch_freq, old->spec.epoch_freq);
  spec.length *= stride;
  spec.epoch_freq /= stride;
  return stride;
}

}  // namespace neon
