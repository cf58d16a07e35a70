// Products on tensor cores: the warps of a block share the rows in kRowParts parts, and the inner axis in kInnerParts.
// Which number is which k of a tile is free as long as both operands agree. So a lane reads 16 bytes of a row or of a
// sample at once, the k of two products. Samples are the 16 rows of a tile, and rows of weights its 8 columns; the
// other way round where samples are few.
//
// A number as a sum of kTerms words that tensor cores take. One: 16 bits as they are, f32 as the nearest TF32. Two, for
// f32: the nearest TF32 and the rest, of which they cut off bits below 2^-23 of the number.
template <typename T, int kCount>
struct Terms {
  u32 at[kTerms][kCount];
  __device__ __forceinline__ void set(int i, u32 word) {
    at[0][i] = word;
    if constexpr (sizeof(T) == 4) {
      at[0][i] = tf32(word);
      if constexpr (kTerms == 2) at[1][i] = __float_as_uint(__uint_as_float(word) - __uint_as_float(at[0][i]));
    }
  }
  __device__ __forceinline__ void set(int i, const uint4& words) {
    set(i, words.x), set(i + 1, words.y), set(i + 2, words.z), set(i + 3, words.w);
  }
};

template <typename T, int kRows, int kInner, int kInnerParts>
struct TensorProduct {
  static constexpr int kRowParts = kWarps / kInnerParts;
  static constexpr bool kManySamples = kBatch % 16 == 0;
  static constexpr int kRowTile = kManySamples ? 8 : 16, kSampleTile = kManySamples ? 16 : 8;
  static constexpr int kTiles = quotient_up(quotient_up(kRows, kRowTile), kRowParts);  // of rows, of a warp
  // Numbers that a lane reads at once, numbers of two products, and how many of these are a line.
  static constexpr int kWide = 16 / int(sizeof(T)), kChunk = 4 * kWide, kOfLine = kLine / kChunk;
  static constexpr int kLines = quotient_up(quotient_up(kInner, kLine), kInnerParts), kChunks = kLines * kOfLine;
  static constexpr int kPaddedInner = kLines * kInnerParts * kLine;
  static constexpr int kAllRows = kTiles * kRowParts * kRowTile;
  // Spreads a warp's sums over all banks.
  static constexpr int kStride = kManySamples ? kAllRows + (40 - kAllRows % 32) % 32 : kAllRows + 4;
  static constexpr int kSums = kInnerParts * kBatch * kStride, kStage = 0;
  // Packs that a lane waits for at once: of kHalves samples of a tile, of so many tiles, and so many chunks.
  static constexpr int kHalves = kSampleTile / 8, kBatches = kBatch / kSampleTile;
  static constexpr int kPacks = kChunks < 8 / kHalves ? kChunks : 8 / kHalves;
  static constexpr int kMostTogether = kPacks < kChunks || kTiles * kRowTile > 64 ? 1 : 8 / kHalves / kPacks;
  static constexpr int kTogether = kBatches % kMostTogether ? 1 : kMostTogether < kBatches ? kMostTogether : kBatches;
  // The two products of a pack have sums of their own while tiles are few, and wait less for each other.
  static constexpr int kSplits = kTiles * kTogether > 2 ? 1 : 2;

  Terms<T, kRowTile / 2> weights[kTiles][kChunks];

  template <typename Weights>
  __device__ __forceinline__ void take(const Weights& from) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int t = 0; t < kTiles; ++t)
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        const int k = (warp / kRowParts * kChunks + c) * kChunk + lane % 4 * kWide;
#pragma unroll
        for (int half = 0; half < kRowTile / 8; ++half) {
          const int row = (warp % kRowParts * kTiles + t) * kRowTile + 8 * half + lane / 4;
          weights[t][c].set(4 * half, weights_at<T, kWide>(from, row, k).words);
        }
      }
  }

  // Parts of the products with all samples of a slot, once its numbers are there. All threads of the block have read
  // the sums of the last product before the first writes here, and see these afterwards.
  __device__ __forceinline__ void run(const T* slot, float* sums, float*) const {
    const int lane = threadIdx.x % 32, part = threadIdx.x / 32 / kRowParts;
    const T* const mine = slot + (part * kLines * kBatch + lane / 4) * kLine + lane % 4 * kWide;
    __syncthreads();
#pragma unroll 1
    for (int b = 0; b < kBatches; b += kTogether) {
      Sums acc = {};
#pragma unroll
      for (int c = 0; c < kChunks; c += kPacks) {
        uint4 packs[kTogether * kPacks * kHalves];
        wait_for<int(sizeof(T))>(packs, true, [&](int j) {
          const int chunk = c + j / kHalves % kPacks < kChunks ? c + j / kHalves % kPacks : kChunks - 1;
          const int sample = (b + j / kHalves / kPacks) * kSampleTile + j % kHalves * 8;
          return mine + (chunk / kOfLine * kBatch + sample) * kLine + chunk % kOfLine * kChunk;
        });
#pragma unroll
        for (int d = 0; d < kPacks; ++d) {
          if (c + d >= kChunks) break;
#pragma unroll
          for (int n = 0; n < kTogether; ++n) {
            Terms<T, kSampleTile / 2> x;
#pragma unroll
            for (int half = 0; half < kHalves; ++half) x.set(4 * half, packs[(n * kPacks + d) * kHalves + half]);
#pragma unroll
            for (int t = 0; t < kTiles; ++t) add(acc, n, t, x, weights[t][c + d]);
          }
        }
      }
#pragma unroll
      for (int n = 0; n < kTogether; ++n)
#pragma unroll
        for (int t = 0; t < kTiles; ++t) put(acc, n, t, b, sums);
    }
    __syncthreads();
  }

  __device__ __forceinline__ static float sum(const float* sums, int row, int sample) {
    float out = sums[sample * kStride + row];
#pragma unroll
    for (int part = 1; part < kInnerParts; ++part) out += sums[(part * kBatch + sample) * kStride + row];
    return out;
  }

 private:
  typedef float Sums[kTerms][kSplits][kTogether][kTiles][4];

  // Tensor cores cut off what a sum has below f32, so products with the small terms have sums of their own.
  __device__ __forceinline__ static void add(Sums& acc, int n, int t, const Terms<T, kSampleTile / 2>& x,
                                             const Terms<T, kRowTile / 2>& w) {
#pragma unroll
    for (int of_x = 0; of_x < kTerms; ++of_x)
#pragma unroll
      for (int of_w = 0; of_x + of_w < kTerms; ++of_w) {
        auto& to = acc[of_x + of_w];
        if constexpr (kManySamples) add_words(to[0][n][t], to[kSplits - 1][n][t], x.at[of_x], w.at[of_w]);
        else add_words(to[0][n][t], to[kSplits - 1][n][t], w.at[of_w], x.at[of_x]);
      }
  }
  __device__ __forceinline__ static void add_words(float (&first)[4], float (&second)[4], const u32 (&a)[8],
                                                   const u32 (&b)[4]) {
    multiply_add<T>(first, a[0], a[4], a[1], a[5], b[0], b[1]);
    multiply_add<T>(second, a[2], a[6], a[3], a[7], b[2], b[3]);
  }

  __device__ __forceinline__ static float total(const Sums& acc, int n, int t, int j) {
    float out = acc[0][0][n][t][j];
    if constexpr (kSplits == 2) out += acc[0][1][n][t][j];
    if constexpr (kTerms == 2) out += kSplits == 2 ? acc[1][0][n][t][j] + acc[1][1][n][t][j] : acc[1][0][n][t][j];
    return out;
  }
  __device__ __forceinline__ static void put(const Sums& acc, int n, int t, int b, float* sums) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = (warp % kRowParts * kTiles + t) * kRowTile;
    const int sample = warp / kRowParts * kBatch + (b + n) * kSampleTile;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int wide = lane / 4 + 8 * half, narrow = lane % 4 * 2;
      const float left = total(acc, n, t, 2 * half), right = total(acc, n, t, 2 * half + 1);
      if constexpr (kManySamples) {
        *reinterpret_cast<float2*>(sums + (sample + wide) * kStride + row + narrow) = float2{left, right};
      } else {
        sums[(sample + narrow) * kStride + row + wide] = left;
        sums[(sample + narrow + 1) * kStride + row + wide] = right;
      }
    }
  }
};

template <typename T, int kRows, int kInner, int kInnerParts>
struct ProductOf {
  typedef TensorProduct<T, kRows, kInner, kInnerParts> type;
};
