#include "neon/cli/exchange_times.h"

#include "backends/graph/ops.h"
#include "backends/graph/rank_rows.h"
#include "neon/cli/step_time.h"
#include "neon/core/text.h"

namespace neon {

namespace {

constexpr int64_t kSummarized[] = {4 << 10, 16 << 20, 512 << 20};
constexpr int64_t kArraySizes[] = {4 << 10, 64 << 10, 1 << 20, 16 << 20, 128 << 20, 512 << 20};
constexpr ExchangeKind kKinds[] = {ExchangeKind::all_reduce, ExchangeKind::reduce_scatter, ExchangeKind::all_gather};
constexpr int64_t kTimings = 20;
constexpr DType kType = DType::f16;

const char* name_of(ExchangeKind kind) {
  switch (kind) {
    case ExchangeKind::reduce_scatter: return "reduce-scatter";
    case ExchangeKind::all_gather: return "all-gather";
    case ExchangeKind::all_reduce: break;
  }
  return "all-reduce";
}

// Every rank has as many elements of what is gathered or added up by rows.
Value add_exchange(Graph& graph, ExchangeKind kind, int64_t elements, RankOf of) {
  const RankRows rows{.rows = std::vector<int64_t>(size_t(of.ranks), elements / of.ranks), .rank = of.rank};
  const bool gathers = kind == ExchangeKind::all_gather;
  const Value x = graph.variable("x", kType, {gathers ? rows.own() : rows.all()});
  switch (kind) {
    case ExchangeKind::reduce_scatter: return reduce_scatter(graph, x, rows);
    case ExchangeKind::all_gather: return all_gather(graph, x, rows);
    case ExchangeKind::all_reduce: break;
  }
  return exchange(graph, {x}).front();
}

// The output is a single number of the result, so that its copy to the host takes no time.
double time_exchange(ExchangeKind kind, int64_t bytes, RankOf of, const DeviceOptions& device) {
  Graph graph;
  const Value y = add_exchange(graph, kind, bytes / int64_t(size_of(kType)), of);
  graph.output("first",
               graph.add(ops::slice, {y}, {{"axis", int64_t(0)}, {"first", int64_t(0)}, {"count", int64_t(1)}}));
  Variables variables;
  const auto program = compile_program(graph, variables, device);
  return median_ms(kTimings, true, [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i) program->run(0);
    program->output("first");
  });
}

std::string time_text(double ms) { return ms < 1 ? formatted("%.0f us", 1000 * ms) : formatted("%.2f ms", ms); }

}  // namespace

std::vector<MeasuredExchange> time_exchanges(Ranks& ranks, DeviceOptions device, bool every) {
  device.program.ranks = &ranks;
  device.name = "an exchange between GPUs";
  std::vector<MeasuredExchange> out;
  const auto time = [&](ExchangeKind kind, int64_t bytes) {
    out.push_back({kind, bytes, time_exchange(kind, bytes, ranks.of(), device)});
  };
  if (every) {
    for (const ExchangeKind kind : kKinds)
      for (const int64_t bytes : kArraySizes) time(kind, bytes);
  } else {
    for (const int64_t bytes : kSummarized) time(ExchangeKind::all_reduce, bytes);
  }
  return out;
}

double bus_bandwidth(const MeasuredExchange& exchange, int ranks) {
  const double sent = exchange.kind == ExchangeKind::all_reduce ? 2 : 1;
  return sent * (ranks - 1) / ranks * double(exchange.bytes) / (exchange.ms * 1e6);
}

std::string bandwidth_summary(std::span<const MeasuredExchange> times, int ranks) {
  std::vector<std::string> out;
  for (const MeasuredExchange& each : times) {
    const bool large = each.bytes >= 1 << 20;  // a small one takes as long as NCCL's messages, whatever the links
    out.push_back(text(bytes_text(double(each.bytes)), " in ", time_text(each.ms),
                       large ? formatted(" (%.0f GB/s)", bus_bandwidth(each, ranks)) : ""));
  }
  return join(out, ", ");
}

std::vector<std::string> bandwidth_table(std::span<const MeasuredExchange> times, int ranks) {
  std::vector<std::string> out = {"exchange              bytes       time  bus bandwidth"};
  for (const MeasuredExchange& each : times)
    out.push_back(formatted("%-14s  %11s  %9s  %8.2f GB/s", name_of(each.kind), bytes_text(double(each.bytes)).c_str(),
                            time_text(each.ms).c_str(), bus_bandwidth(each, ranks)));
  return out;
}

}  // namespace neon
