// How long exchanges between GPUs take, for neon doctor. The ranks of a run of several GPUs measure them.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backends/device/device.h"
#include "backends/ranks.h"

namespace neon {

enum class ExchangeKind { all_reduce, reduce_scatter, all_gather };

struct MeasuredExchange {
  ExchangeKind kind = ExchangeKind::all_reduce;
  int64_t bytes = 0;  // of the array that every rank has, or that all of them have together
  double ms = 0;
};

// Exchanges of arrays in f16, of 4 KiB to 512 MiB; without `every`, sums of three sizes alone. All ranks call it
// together, each for its own device. Throws as compile_program does.
std::vector<MeasuredExchange> time_exchanges(Ranks& ranks, DeviceOptions device, bool every);

// GB/s by which NCCL's own tests rate an exchange over n GPUs: 2 (n - 1)/n of an array's bytes are sent for a sum, and
// (n - 1)/n where rows are gathered, or added up by rows.
double bus_bandwidth(const MeasuredExchange& exchange, int ranks);

// "4 KiB in 20 us, 16 MiB in 0.1 ms (250 GB/s)" of sums.
std::string bandwidth_summary(std::span<const MeasuredExchange> times, int ranks);
// The lines of a table with a row for each size.
std::vector<std::string> bandwidth_table(std::span<const MeasuredExchange> times, int ranks);

}  // namespace neon
