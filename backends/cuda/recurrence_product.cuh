// Numbers of 16 bits on tensor cores: the warps of a block share the rows in kRowParts parts, and the inner axis in
// kInnerParts. Which number is which k of mma.m16n8k16 is free as long as both operands agree, so that a lane reads 8
// numbers of a row at once, those of two products.
template <typename T>
constexpr bool kIsBf16 = false;
template <>
constexpr bool kIsBf16<bf16> = true;
#define NEON_MMA(TYPE)                                                       \
  asm("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE                 \
      ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                       \
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1))
template <typename T>
__device__ __forceinline__ void multiply_add(float (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  if constexpr (kIsBf16<T>) NEON_MMA("bf16");
  else NEON_MMA("f16");
}
#undef NEON_MMA

template <typename T, int kRows, int kInner, int kInnerParts>
struct TensorProduct {
  static constexpr int kRowParts = kWarps / kInnerParts;
  static constexpr int kTiles = quotient_up(quotient_up(kRows, 16), kRowParts);      // of 16 rows, of a warp
  static constexpr int kChunks = quotient_up(quotient_up(kInner, 32), kInnerParts);  // of 32 numbers, of a warp
  static constexpr int kPaddedInner = kChunks * kInnerParts * 32;
  static constexpr int kStride = kTiles * kRowParts * 16 + 4;  // which spreads a warp's sums over all banks
  static constexpr int kSums = kInnerParts * kBatch * kStride, kStage = 0;
  // Packs that a lane waits for at once: of so many samples by 8, and chunks.
  static constexpr int kPacks = kChunks < 8 ? kChunks : 8, kBatches = kBatch / 8;
  static constexpr int kMostTogether = kPacks < kChunks || kTiles > 4 ? 1 : 8 / kPacks;
  static constexpr int kTogether = kBatches % kMostTogether ? 1 : kMostTogether < kBatches ? kMostTogether : kBatches;

  u32 weights[kTiles][kChunks][8];

  template <typename Weights>
  __device__ __forceinline__ void take(const Weights& from) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int t = 0; t < kTiles; ++t)
#pragma unroll
      for (int c = 0; c < kChunks; ++c)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int row = (warp % kRowParts * kTiles + t) * 16 + 8 * half + lane / 4;
          const auto pack = weights_at<T, 8>(from, row, (warp / kRowParts * kChunks + c) * 32 + lane % 4 * 8);
          weights[t][c][4 * half] = pack.words.x, weights[t][c][4 * half + 1] = pack.words.y;
          weights[t][c][4 * half + 2] = pack.words.z, weights[t][c][4 * half + 3] = pack.words.w;
        }
  }

  // Parts of the products with all samples of a slot, once its numbers are there. All threads of the block have read
  // the sums of the last product before the first writes here, and see these afterwards.
  __device__ __forceinline__ void run(const T* slot, float* sums, float*) const {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, part = warp / kRowParts;
    const T* const mine = slot + (part * kChunks * kBatch + lane / 4) * kLine + lane % 4 * 8;
    __syncthreads();
#pragma unroll 1
    for (int b = 0; b < kBatches; b += kTogether) {
      float acc[kTogether][kTiles][4] = {};
#pragma unroll
      for (int c = 0; c < kChunks; c += kPacks) {
        uint4 packs[kTogether * kPacks];
        wait_for<2>(packs, true, [&](int j) {
          const int chunk = c + j % kPacks < kChunks ? c + j % kPacks : kChunks - 1;
          return mine + (chunk * kBatch + (b + j / kPacks) * 8) * kLine;
        });
#pragma unroll
        for (int d = 0; d < kPacks; ++d) {
          if (c + d >= kChunks) break;
#pragma unroll
          for (int t = 0; t < kTiles; ++t)
#pragma unroll
            for (int n = 0; n < kTogether; ++n) {
              const uint4& x = packs[n * kPacks + d];
              const u32(&w)[8] = weights[t][c + d];
              multiply_add<T>(acc[n][t], w[0], w[4], w[1], w[5], x.x, x.y);
              multiply_add<T>(acc[n][t], w[2], w[6], w[3], w[7], x.z, x.w);
            }
        }
      }
#pragma unroll
      for (int n = 0; n < kTogether; ++n)
#pragma unroll
        for (int t = 0; t < kTiles; ++t)
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            const int sample = (b + n) * 8 + lane % 4 * 2 + j % 2;
            const int row = (warp % kRowParts * kTiles + t) * 16 + lane / 4 + j / 2 * 8;
            sums[(part * kBatch + sample) * kStride + row] = acc[n][t][j];
          }
    }
    __syncthreads();
  }

  __device__ __forceinline__ static float sum(const float* sums, int row, int sample) {
    float out = sums[sample * kStride + row];
#pragma unroll
    for (int part = 1; part < kInnerParts; ++part) out += sums[(part * kBatch + sample) * kStride + row];
    return out;
  }
};

// Numbers of f32: the warps share the inner axis, and a warp's lanes rows, kOfLane each; where rows are few, kApart
// lanes have the same ones and every kApart-th number. Numbers of a slot are turned in shared memory, so that a lane
// reads number k of all samples at once.
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

// The product of a type; kInnerParts is that of 16-bit numbers.
template <typename T, int kRows, int kInner, int kInnerParts>
struct ProductOf {
  typedef TensorProduct<T, kRows, kInner, kInnerParts> type;
};
template <int kRows, int kInner, int kInnerParts>
struct ProductOf<float, kRows, kInner, kInnerParts> {
  typedef PlainProduct<kRows, kInner> type;
};
