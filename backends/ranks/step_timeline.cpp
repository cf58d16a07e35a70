#include "backends/ranks/step_timeline.h"

#include <algorithm>
#include <cmath>

#include "backends/graph/ops.h"
#include "backends/graph/plan.h"
#include "backends/graph/rank_rows.h"

namespace neon {

namespace {

// Times around a ring that each byte travels until all of `members` have the sum; until rows are moved once there and
// once back, where one member has all of them.
double rounds(int members, bool one) { return one ? 2 : 2 * double(members - 1) / members; }

// Whether a kernel moves rows of one rank alone, or adds them up for one.
bool is_of_one(const LoweredKernel& kernel) {
  if (!kernel.is(ops::all_gather) && !kernel.is(ops::reduce_scatter)) return false;
  const std::vector<int64_t> rows = rank_rows(kernel.attributes).rows;
  return kernel.inputs.size() == 1 && rows.size() > 1 && std::ranges::count(rows, 0) == std::ptrdiff_t(rows.size()) - 1;
}

double bytes_of(const Lowered& lowered, const LoweredKernel& exchange) {
  const auto of = [&](const std::vector<Value>& values) {
    double bytes = 0;
    for (const Value value : values) bytes += double(lowered.graph.type(value).bytes());
    return bytes;
  };
  return std::max(of(exchange.inputs), of(exchange.outputs));
}

// When a kernel of so many seconds ends that begins at `begin`, while an exchange goes on up to `busy_until`.
double end_of_kernel(double begin, double seconds, double busy_until, double slowdown) {
  const double beside = std::max(0.0, busy_until - begin);
  const double done = beside / slowdown;  // of the kernel's seconds, beside the exchange
  return seconds <= done ? begin + seconds * slowdown : begin + beside + (seconds - done);
}

}  // namespace

double exchange_seconds(double bytes, int devices, const Links& links, bool once, bool one) {
  if (devices == 1) return 0;
  const int in_host = std::min(devices, links.host_devices);
  const int hosts = (devices + in_host - 1) / in_host;
  if (once) bytes /= 2;
  double out = 0;
  if (in_host > 1) out += links.latency + rounds(in_host, one) * bytes / links.bandwidth;
  if (hosts > 1)
    out += 2 * std::ceil(std::log2(hosts)) * links.network_latency +
           rounds(hosts, one) * bytes / in_host / links.network_bandwidth;
  return out;
}

double StepTimeline::exchanged() const {
  double out = 0;
  for (const ExchangeTime& exchange : exchanges) out += exchange.end - exchange.begin;
  return out;
}

double StepTimeline::waited() const {
  double out = 0;
  for (const ExchangeTime& exchange : exchanges) out += exchange.waited;
  return out;
}

StepTimeline simulate_step(const Lowered& lowered, std::span<const double> kernel_seconds, int devices,
                           const Links& links) {
  StepTimeline out;
  const size_t kernels = lowered.kernels.size();
  std::vector<int> joins(kernels + 1, -1);  // by kernel, and at the end: the last exchange that it waits for
  double now = 0, busy_until = 0;           // of the kernels, and of the exchanges
  const auto wait_at = [&](size_t place) {
    if (joins[place] < 0) return;
    ExchangeTime& exchange = out.exchanges[size_t(joins[place])];
    exchange.waited += std::max(0.0, exchange.end - now);
    now = std::max(now, exchange.end);
  };
  for (size_t k = 0; k < kernels; ++k) {
    wait_at(k);
    if (!lowered.kernels[k].traits().exchanges) {
      now = end_of_kernel(now, kernel_seconds[k], busy_until, links.slowdown);
      continue;
    }
    const double bytes = bytes_of(lowered, lowered.kernels[k]), begin = std::max(now, busy_until);
    const LoweredKernel& kernel = lowered.kernels[k];
    busy_until = begin + exchange_seconds(bytes, devices, links, !kernel.is(ops::exchange), is_of_one(kernel));
    int& join = joins[size_t(join_of(lowered, int(k)))];
    join = std::max(join, int(out.exchanges.size()));
    out.exchanges.push_back({int(k), bytes, begin, busy_until, 0});
  }
  wait_at(kernels);
  out.seconds = now;
  return out;
}

}  // namespace neon
