// Source of scatter_add.
#include <algorithm>
#include <bit>

#include "backends/cuda/op_writer.h"
#include "backends/graph/ops.h"

namespace neon::cuda {

namespace {

constexpr int kScatterWarps = kThreads / 32, kIndices = 16;  // indices of a thread at a time
constexpr int64_t kMostOfLane = 24, kSumsOfLane = 48;        // columns of a lane; its sums, of several rows
constexpr int64_t kBusyBlocks = 264;                         // that run at the same time on the GPUs at hand

class ScatterWriter : public OpWriter {
 public:
  using OpWriter::OpWriter;
  Source run() {
    const std::string body = scatter_add();
    Source out = source(body);
    out.partial_bytes = partial_bytes_;
    out.tickets = tickets_;
    return out;
  }

 private:
  // A warp for some rows of the result and so many columns, and a block's warps for neighbouring rows: the block lists
  // the indices that name one of them, some at a time, and each warp adds up the values of its own, in the order in
  // which they stand. Every block looks at all indices, so blocks have more rows where they would be many; where they
  // are few, each takes a share of the indices, and the last adds up their sums.
  std::string scatter_add() {
    const int64_t rows = output()[0], width = output().elements() / std::max<int64_t>(rows, 1), count = input(1)[0];
    const int64_t of_lane = std::min(quotient_up(width, 32), kMostOfLane), tiles = quotient_up(width, 32 * of_lane);
    const int64_t busy = rows * tiles / (kScatterWarps * kBusyBlocks),
                  of_warp = std::bit_floor(uint64_t(std::clamp<int64_t>(busy, 1, kSumsOfLane / of_lane)));
    const int64_t units = quotient_up(rows, kScatterWarps * of_warp) * tiles;
    const int64_t shares =
        std::clamp<int64_t>(kBusyBlocks / units, 1, std::max<int64_t>(quotient_up(count, kThreads), 1));
    const int64_t share = quotient_up(count, shares);
    blocks_ = units * shares;
    std::string body =
        text("  constexpr int kEach = ", kIndices, ", kOfLane = ", of_lane, ", kOfWarp = ", of_warp,
             ", kTogether = ", of_lane > 12 ? 2 : 4, ", kTiles = ", tiles, ", kShares = ", shares, ", kWidth = ", width,
             ";\n  constexpr i64 kRows = ", rows, ", kCount = ", count, ", kShare = ", share, ";\n", kListed);
    replace_word(body, "INDEX", code_.integer(kernel_.inputs[1], "i"));
    replace_word(body, "CHECK", code_.looked_up(kernel_.inputs[1], "i", rows));
    replace_word(body, "VALUE", code_.load(kernel_.inputs[0], "i * kWidth + c"));
    if (shares > 1) {
      partial_bytes_ = size_t(blocks_ * kThreads * of_warp * of_lane) * size_of(compute_);
      tickets_ = int(1 + units);
      body += kJoined;
    }
    return body + text("#pragma unroll\n  for (int k = 0; k < kOfWarp * kOfLane; ++k) {\n",
                       "    const i64 row = row0 + k / kOfLane * kWarps + warp;\n",
                       "    const int c = first_column + 32 * (k % kOfLane);\n",
                       "    if (row >= kRows || c >= kWidth) continue;\n", put("row * kWidth + c", "sum[k]"), "  }\n");
  }

  static constexpr const char* kListed =
      R"(  constexpr int kWarps = kThreads / 32, kBlockRows = kWarps * kOfWarp, kOfCounts = kEach * kWarps / 32;
  __shared__ u32 list[kThreads * kEach];
  __shared__ int counts[kEach * kWarps];
  const int unit = blockIdx.x / kShares, share = blockIdx.x % kShares, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const i64 row0 = i64(unit / kTiles) * kBlockRows;
  const int first_column = unit % kTiles * 32 * kOfLane + lane;
  const i64 end = (share + 1) * kShare < kCount ? (share + 1) * kShare : kCount;
  R sum[kOfWarp * kOfLane] = {};
  for (i64 first = share * kShare; first < end; first += kThreads * kEach) {
    int rows[kEach];
    u32 votes[kEach];
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const i64 i = first + e * kThreads + threadIdx.x;
      rows[e] = -1;
      if (i < end) {
        const i64 named = INDEX;
        if (named >= row0 && named < row0 + kBlockRows) rows[e] = int(named - row0);
        if (unit == 0 && (named < 0 || named >= kRows)) CHECK;
      }
      votes[e] = __ballot_sync(0xffffffffu, rows[e] >= 0);
      if (lane == 0) counts[e * kWarps + warp] = __popc(votes[e]);
    }
    __syncthreads();
    // A lane has the counts of kOfCounts warps, then how many are listed before theirs.
    int before = 0;
#pragma unroll
    for (int k = 0; k < kOfCounts; ++k) before += counts[lane * kOfCounts + k];
    int until = before;
#pragma unroll
    for (int apart = 1; apart < 32; apart *= 2) {
      const int other = __shfl_up_sync(0xffffffffu, until, apart);
      if (lane >= apart) until += other;
    }
    const int listed = __shfl_sync(0xffffffffu, until, 31);
    before = until - before;
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int first_of_lane = (e * kWarps + warp) / kOfCounts * kOfCounts;
      int place = __shfl_sync(0xffffffffu, before, first_of_lane / kOfCounts);
      if (votes[e] == 0) continue;
      for (int k = first_of_lane; k < e * kWarps + warp; ++k) place += counts[k];
      if (rows[e] >= 0)
        list[place + __popc(votes[e] & ((1u << lane) - 1))] = u32(e * kThreads + threadIdx.x) * kBlockRows + rows[e];
    }
    __syncthreads();
    for (int n = 0; n < listed; n += 32) {
      const u32 entry = n + lane < listed ? list[n + lane] : 0;
      u32 mine = __ballot_sync(0xffffffffu, n + lane < listed && entry % kWarps == warp);
      while (mine) {
        R values[kTogether][kOfLane];
        int which[kTogether];
#pragma unroll
        for (int t = 0; t < kTogether; ++t) {
          const bool any = mine != 0;
          const u32 next = __shfl_sync(0xffffffffu, entry, any ? __ffs(mine) - 1 : 0);
          const i64 i = first + next / kBlockRows;
          which[t] = any ? int(next % kBlockRows / kWarps) : 0;
          mine &= mine - 1;
#pragma unroll
          for (int j = 0; j < kOfLane; ++j) {
            const int c = first_column + 32 * j;
            values[t][j] = any && c < kWidth ? VALUE : R(0);
          }
        }
#pragma unroll
        for (int t = 0; t < kTogether; ++t)
#pragma unroll
          for (int k = 0; k < kOfWarp * kOfLane; ++k)
            if (kOfWarp == 1 || which[t] == k / kOfLane) sum[k] += values[t][k % kOfLane];
      }
    }
  }
)";
  static constexpr const char* kJoined =
      R"(  constexpr int kSums = kOfWarp * kOfLane;
  R* const parts = partials + i64(unit) * kShares * kSums * kThreads + threadIdx.x;
#pragma unroll
  for (int k = 0; k < kSums; ++k) parts[(share * kSums + k) * kThreads] = sum[k];
  if (!is_last_of(ticket + 1 + unit, kShares)) return;
#pragma unroll
  for (int k = 0; k < kSums; ++k) sum[k] = 0;
#pragma unroll 4
  for (int s = 0; s < kShares; ++s)
#pragma unroll
    for (int k = 0; k < kSums; ++k) sum[k] += __ldcg(parts + (s * kSums + k) * kThreads);
)";

  size_t partial_bytes_ = 0;
  int tickets_ = 1;
};

const SourceRegistration scatter_add(ops::scatter_add, source_by<ScatterWriter>);

}  // namespace

}  // namespace neon::cuda
