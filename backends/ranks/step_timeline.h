// The time of a step on several devices, computed from the kernels' times on one.
#pragma once
#include <span>
#include <vector>

#include "backends/graph/lower.h"

namespace neon {

// How devices are joined. Devices of a host share fast links; each has a link of its own to the other hosts.
struct Links {
  double bandwidth = 330e9;         // bytes a second between devices of a host, each way
  double latency = 30e-6;           // seconds that an exchange in a host takes besides
  int host_devices = 8;             // devices of a host
  double network_bandwidth = 50e9;  // bytes a second of a device to another host, each way
  double network_latency = 10e-6;   // seconds of a message from host to host
  // Times as long as alone that kernels take beside an exchange. NCCL holds some processors of a GPU, and kernels that
  // count on all of them begin their last part when others end: twice as long on H100s.
  double slowdown = 2;
};

// Seconds of an exchange over so many devices. In a sum each has so many bytes: in a host of g each byte travels 2 (g -
// 1) / g times (a ring; Patarasu and Yuan 2009). With h hosts each device then sums its 1/g of the bytes with its
// partners of the other hosts, which takes messages of 2 log2 h rounds (a tree), or 2 (h - 1) / h times its part in
// bytes. `once`: rows are moved, or added up, one way alone, which is half of that; `bytes` are of the rows of all.
// `one`: they are rows of one device alone, which then sends, or takes, all of them.
double exchange_seconds(double bytes, int devices, const Links& links, bool once = false, bool one = false);

// Where in a step an exchange goes on, in seconds from the step's begin.
struct ExchangeTime {
  int kernel = 0;
  double bytes = 0;
  double begin = 0, end = 0;
  double waited = 0;  // that kernels waited for it
};

struct StepTimeline {
  double seconds = 0;
  std::vector<ExchangeTime> exchanges;
  double exchanged() const;  // seconds in which an exchange went on
  double waited() const;     // seconds in which no kernel ran, for want of an exchange
};

// `kernel_seconds`: of each kernel on one device; those of exchanges do not count. Exchanges go on one behind the
// other, beside the kernels that follow, up to the first that touches their arrays (join_of in backends/graph/plan.h).
StepTimeline simulate_step(const Lowered& lowered, std::span<const double> kernel_seconds, int devices,
                           const Links& links);

}  // namespace neon
