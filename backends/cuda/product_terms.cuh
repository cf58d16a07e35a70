// c = a b in f32 on the tensor cores of compute capability 9.0, which take TF32, 11 of f32's 24 bits. Each number is
// the sum of two terms of TF32, high and low, and a product is high high + high low + low high: all of it but low low,
// 2^-22 of it. Tensor cores cut off what they add up, so their sums end with each unit, kDepth numbers of the inner
// axis, and are added up in f32. The result may be NaN where an operand is infinite.
//
// The units of all tiles of results are a row, and each block takes as many. A tile that several blocks share is added
// up by the last of them to come, in the order of the blocks.
//
// Units come to shared memory by copies that threads start, kStages ahead. Each half of a block multiplies 64 rows of
// a, whose terms lie in registers. Terms of b lie in shared memory, numbers of the inner axis side by side and permuted
// as tensor cores read them (PTX ISA, "Matrix Descriptor"). They are made while the unit before is multiplied.
//
// The host writes before this text: kAlongA and kAlongB (an operand's rows in memory go along the inner axis), kBias,
// kAddend, kRelu; multiply_add(sums, a0, a1, a2, a3, b, add).
constexpr int kSide = 128, kDepth = 32, kStages = 4;  // results of a tile each way; numbers of a unit; units in memory
constexpr int kMatrix = kSide * kDepth;               // numbers of an operand in a unit

struct Sizes {
  i64 of_a, of_b, of_c;              // elements from row to row in memory; an addend's rows are dense
  int rows, columns, inner;          // of results; numbers of each sum
  int across, chunks, units, share;  // tiles beside each other; units of a tile, of all, of a block
};

// An operand of a unit in shared memory, rows apart so that the numbers of a warp lie in 32 banks.
template <bool kAlong>
struct Slab {
  static constexpr int kPitch = kAlong ? kDepth + 4 : kSide + 8, kNumbers = (kAlong ? kSide : kDepth) * kPitch;
  __device__ static int place(int at, int k) { return kAlong ? at * kPitch + k : k * kPitch + at; }

  // Starts the copies of kSide rows from `at` on and kDepth numbers from `k` on. Outside of the array there are zeros.
  __device__ static void fetch(u32 to, const float* from, i64 stride, int at, int k, int most_at, int inner) {
    constexpr int kPacks = (kAlong ? kDepth : kSide) / 4;
    const int rows = kAlong ? most_at : inner, columns = kAlong ? inner : most_at;
#pragma unroll
    for (int i = 0; i < kMatrix / 4 / kThreads; ++i) {
      const int pack = i * kThreads + threadIdx.x, row = pack / kPacks, column = pack % kPacks * 4;
      const int y = (kAlong ? at : k) + row, x = (kAlong ? k : at) + column;
      const int bytes = y < rows ? max(0, min(4, columns - x)) * 4 : 0;
      const float* const source = bytes ? from + y * stride + x : from;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + (row * kPitch + column) * 4), "l"(source),
                   "r"(bytes));
    }
  }
};
typedef Slab<kAlongA> SlabA;
typedef Slab<kAlongB> SlabB;
constexpr int kStage = SlabA::kNumbers + SlabB::kNumbers;

// `high` keeps NaN, except one whose bits all lie among the 13 lowest; arithmetic makes none of these.
struct Terms {
  u32 high, low;
  __device__ Terms() {}
  __device__ explicit Terms(float x) {
    high = __float_as_uint(x) & 0xFFFFE000;
    low = (__float_as_uint(x - __uint_as_float(high)) + 0x1000) & 0xFFFFE000;  // to the nearest
  }
};

__device__ __forceinline__ void split_b(const float* b, u32* high, u32* low) {
#pragma unroll
  for (int i = 0; i < kMatrix / 4 / kThreads; ++i) {
    const int pack = i * kThreads + threadIdx.x;
    const int n = kAlongB ? pack / 8 : pack % kSide, k = (kAlongB ? pack % 8 : pack / kSide) * 4;
    float4 x;
    if (kAlongB) x = *reinterpret_cast<const float4*>(b + SlabB::place(n, k));
    else x = {b[SlabB::place(n, k)], b[SlabB::place(n, k + 1)], b[SlabB::place(n, k + 2)], b[SlabB::place(n, k + 3)]};
    const Terms four[] = {Terms(x.x), Terms(x.y), Terms(x.z), Terms(x.w)};
    const int to = n * kDepth + (k / 4 ^ n % 8) * 4;
    *reinterpret_cast<uint4*>(high + to) = {four[0].high, four[1].high, four[2].high, four[3].high};
    *reinterpret_cast<uint4*>(low + to) = {four[0].low, four[1].low, four[2].low, four[3].low};
  }
}

// The part of a tile that a thread makes: of each 8 columns, two neighbours of two rows.
struct Results {
  const Sizes& of;
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
  float sums[kSide / 8][4] = {};  // numbers 2 and 3 are of row + 8

  __device__ void clear() {
#pragma unroll
    for (int j = 0; j < kSide / 8; ++j) sums[j][0] = sums[j][1] = sums[j][2] = sums[j][3] = 0;
  }
  __device__ void add(const float (&part)[kSide / 2]) {
#pragma unroll
    for (int n = 0; n < kSide / 2; ++n) sums[n / 4][n % 4] += part[n];
  }

  // Puts what this block has of a shared tile down. True for the last block of the tile, which then has all.
  __device__ bool gather(int tile, float4* parts, u32* tickets) {
    const int first = tile * of.chunks / of.share, last = (tile * of.chunks + of.chunks - 1) / of.share;
    if (first == last) return true;
    // A block shares two tiles at most, that of its first unit and that of its last.
    const auto part = [&](int block, int j) {
      const i64 slot = block * 2 + (block * of.share / of.chunks != tile);
      return parts + (slot * (kSide / 8) + j) * kThreads + threadIdx.x;
    };
#pragma unroll
    for (int j = 0; j < kSide / 8; ++j)
      __stcg(part(blockIdx.x, j), make_float4(sums[j][0], sums[j][1], sums[j][2], sums[j][3]));
    if (!is_last_of(tickets + tile, last - first + 1)) return false;
    clear();
    for (int block = first; block <= last; ++block)
#pragma unroll
      for (int j = 0; j < kSide / 8; ++j) {
        const float4 other = __ldcg(part(block, j));
        sums[j][0] += other.x, sums[j][1] += other.y, sums[j][2] += other.z, sums[j][3] += other.w;
      }
    return true;
  }

  // relu keeps NaN.
  __device__ static float finished(float sum, const float* bias, const float* addend) {
    if (kBias) sum += *bias;
    if (kAddend) sum += *addend;
    return kRelu && sum < 0 ? 0 : sum;
  }
  __device__ void put(int tile, const float* bias, const float* addend, float* c) {
    const bool pairs = of.of_c % 2 == 0 && (u64(c) & 7) == 0;
#pragma unroll
    for (int j = 0; j < kSide / 8; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int y = tile / of.across * kSide + row + half * 8, x = tile % of.across * kSide + j * 8 + column;
        if (y >= of.rows || x >= of.columns) continue;
        const bool two = x + 1 < of.columns;
        const float* const added = addend + i64(y) * of.columns + x;
        const float first = finished(sums[j][half * 2], bias + x, added),
                    second = two ? finished(sums[j][half * 2 + 1], bias + x + 1, added + 1) : 0;
        float* const to = c + y * of.of_c + x;
        if (pairs && two) *reinterpret_cast<float2*>(to) = {first, second};
        else {
          *to = first;
          if (two) to[1] = second;
        }
      }
  }
};

// The units of a block.
struct Block {
  const Sizes& of;
  const float *const a, *const b;
  u32* const terms;     // of b, twice: high and low
  float* const stages;  // of a and b
  const int begin = int(blockIdx.x) * of.share, end = min(begin + of.share, of.units);
  Results results{of};
  float part[kSide / 2];

  __device__ float* stage(int unit) const { return stages + (unit - begin) % kStages * kStage; }
  __device__ u32* high_of_b(int unit) const { return terms + (unit - begin) % 2 * 2 * kMatrix; }

  __device__ void fetch(int unit) const {
    if (unit < end) {
      const u32 to = shared_place(stage(unit));
      const int tile = unit / of.chunks, k = unit % of.chunks * kDepth;
      SlabA::fetch(to, a, of.of_a, tile / of.across * kSide, k, of.rows, of.inner);
      SlabB::fetch(to + SlabA::kNumbers * 4, b, of.of_b, tile % of.across * kSide, k, of.columns, of.inner);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  }

  typedef Terms Left[kDepth / 8][4];
  __device__ void split(int unit, Left& left) const {
    const float* const from = stage(unit);
    split_b(from + SlabA::kNumbers, high_of_b(unit), high_of_b(unit) + kMatrix);
#pragma unroll
    for (int k = 0; k < kDepth / 8; ++k)
#pragma unroll
      for (int n = 0; n < 4; ++n)
        left[k][n] = Terms(from[SlabA::place(results.row + n % 2 * 8, k * 8 + threadIdx.x % 4 + n / 2 * 4)]);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }

  // Starts the products of a unit, for each 8 numbers the largest last.
  __device__ void multiply(int unit, const Left& left) {
    const u32 high = shared_place(high_of_b(unit)), low = high + kMatrix * 4;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < kDepth / 8; ++k) {
      const u64 b_high = matrix_at<128>(high + k * 32, 1024), b_low = matrix_at<128>(low + k * 32, 1024);
      const Terms(&a)[4] = left[k];
      multiply_add(part, a[0].low, a[1].low, a[2].low, a[3].low, b_high, k > 0);
      multiply_add(part, a[0].high, a[1].high, a[2].high, a[3].high, b_low, true);
      multiply_add(part, a[0].high, a[1].high, a[2].high, a[3].high, b_high, true);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }

  // Multiplies a unit, whose terms are there, and makes the terms of the next. True where its tile ends here.
  __device__ bool step(int unit, const Left& mine, Left& next) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 3) : "memory");
    __syncthreads();  // all terms of this unit are there, those before are used, and the next unit has come
    multiply(unit, mine);
    fetch(unit + kStages - 1);
    if (unit + 1 < end) split(unit + 1, next);
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    results.add(part);
    return (unit + 1) % of.chunks == 0 || unit + 1 == end;
  }
};

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    kernel(const __grid_constant__ Sizes of, const float* a, const float* b, const float* bias, const float* addend,
           float* c, float4* parts, u32* tickets) {
  extern __shared__ __align__(1024) float memory[];
  Block block{of, a, b, reinterpret_cast<u32*>(memory), memory + 4 * kMatrix};
  for (int n = 0; n < kStages - 1; ++n) block.fetch(block.begin + n);
  asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
  __syncthreads();
  Block::Left left[2];
  block.split(block.begin, left[0]);
  const auto finish = [&](int unit) {
    const int tile = unit / of.chunks;
    if (block.results.gather(tile, parts, tickets)) block.results.put(tile, bias, addend, c);
    block.results.clear();
  };
  for (int unit = block.begin; unit < block.end; unit += 2) {  // two, so that terms stay in registers
    if (block.step(unit, left[0], left[1])) finish(unit);
    if (unit + 1 < block.end && block.step(unit + 1, left[1], left[0])) finish(unit + 1);
  }
}
