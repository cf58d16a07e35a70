// Products of f32 without tensor cores: the warps share the inner axis, and a warp's lanes rows, kOfLane each; where
// rows are few, kApart lanes have the same ones and every kApart-th number. Numbers of a slot are turned in shared
// memory, so that a lane reads number k of all samples at once.
template <int kRows, int kInner>
struct PlainProduct {
  static constexpr int kAllRows = kRows <= 8 ? 8 : kRows <= 16 ? 16 : kRows <= 32 ? 32 : kRows <= 64 ? 64 : 128;
  static constexpr int kOfLane = kAllRows == 8 ? 1 : kAllRows == 128 ? 4 : 2;
  static constexpr int kLanes = kAllRows / kOfLane, kApart = 32 / kLanes;
  static constexpr int kTogether = kBatch % 16 ? 8 : 16;  // samples
  // Numbers of a sample that a warp reads at once, so many packs of four a lane.
  static constexpr int kLeast = 256 / kTogether, kNeeded = rounded_up(quotient_up(kInner, kWarps), kLeast);
  static constexpr int kPiece = kNeeded < 4 * kLeast ? kNeeded : 4 * kLeast, kPacks = 2 * kPiece / kLeast;
  static constexpr int kOfWarp = rounded_up(kNeeded, kPiece), kPaddedInner = kOfWarp * kWarps;
  static constexpr int kStride = kAllRows + 4, kSums = kWarps * kBatch * kStride;
  static constexpr int kStageRow = kTogether + 4, kStage = kWarps * kPiece * kStageRow;
  static constexpr int kOfPiece = kPiece / kApart;  // numbers of a lane

  float weights[kOfWarp / kApart][kOfLane];

  template <typename Weights>
  __device__ __forceinline__ void take(const Weights& from) {
    constexpr int kWide = kApart == 1 ? 4 : 1;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int r = 0; r < kOfLane; ++r)
#pragma unroll
      for (int i = 0; i < kOfWarp / kApart; i += kWide) {
        const int k = warp * kOfWarp + i * kApart + lane / kLanes;
        const auto pack = weights_at<float, kWide>(from, lane % kLanes + r * kLanes, k);
#pragma unroll
        for (int j = 0; j < kWide; ++j) weights[i + j][r] = pack.at[j];
      }
  }

  __device__ __forceinline__ void run(const float* slot, float* sums, float* stages) const {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float* const stage = stages + warp * kPiece * kStageRow;
    const int sample = lane % kTogether, quad = lane / kTogether;
    constexpr int kQuads = 32 / kTogether;
    __syncthreads();
#pragma unroll 1
    for (int b = 0; b < kBatch; b += kTogether) {
      const auto from = [&](int piece, int j) {
        const int k = warp * kOfWarp + piece * kPiece + (quad + kQuads * j) * 4;
        return slot + (k / kLine * kBatch + b + sample) * kLine + k % kLine;
      };
      float acc[kOfLane * kTogether] = {};
#pragma unroll
      for (int piece = 0; piece < kOfWarp / kPiece; ++piece) {
        uint4 packs[kPacks];
        wait_for<4>(packs, true, [&](int j) { return from(piece, j); });
        __syncwarp();
#pragma unroll
        for (int j = 0; j < kPacks; ++j) {
          float* const to = stage + (quad + kQuads * j) * 4 * kStageRow + sample;
          to[0] = __uint_as_float(packs[j].x), to[kStageRow] = __uint_as_float(packs[j].y);
          to[2 * kStageRow] = __uint_as_float(packs[j].z), to[3 * kStageRow] = __uint_as_float(packs[j].w);
        }
        __syncwarp();
#pragma unroll
        for (int i = 0; i < kOfPiece; ++i) {
          const float* const x = stage + (i * kApart + lane / kLanes) * kStageRow;
          float h[kTogether];
#pragma unroll
          for (int n = 0; n < kTogether; n += 4) {
            const float4 four = *reinterpret_cast<const float4*>(x + n);
            h[n] = four.x, h[n + 1] = four.y, h[n + 2] = four.z, h[n + 3] = four.w;
          }
#pragma unroll
          for (int r = 0; r < kOfLane; ++r)
#pragma unroll
            for (int n = 0; n < kTogether; ++n) acc[r * kTogether + n] += weights[piece * kOfPiece + i][r] * h[n];
        }
      }
      put(acc, sums + (warp * kBatch + b) * kStride);
    }
    __syncthreads();
  }

  __device__ __forceinline__ static float sum(const float* sums, int row, int sample) {
    float out = sums[sample * kStride + row];
#pragma unroll
    for (int warp = 1; warp < kWarps; ++warp) out += sums[(warp * kBatch + sample) * kStride + row];
    return out;
  }

 private:
  // Lanes of the same rows add up their sums: each ends with a part of them.
  __device__ __forceinline__ static void put(float (&acc)[kOfLane * kTogether], float* sums) {
    const int lane = threadIdx.x % 32;
    int first = 0;
#pragma unroll
    for (int apart = 1; apart < kApart; apart *= 2) {
      const int left = kOfLane * kTogether / apart / 2;
      const bool upper = lane & (kLanes * apart);
#pragma unroll
      for (int i = 0; i < kOfLane * kTogether / 2; ++i) {
        if (i >= left) break;
        const float keep = upper ? acc[i + left] : acc[i], give = upper ? acc[i] : acc[i + left];
        acc[i] = keep + __shfl_xor_sync(0xffffffffu, give, kLanes * apart);
      }
      if (upper) first += left;
    }
#pragma unroll
    for (int i = 0; i < kOfLane * kTogether / kApart; ++i)
      sums[(first + i) % kTogether * kStride + lane % kLanes + (first + i) / kTogether * kLanes] = acc[i];
  }
};

template <typename T, int kRows, int kInner, int>
struct ProductOf {
  typedef PlainProduct<kRows, kInner> type;
};
