// Sums, and sums of squares, of what a kernel stores, map by map: of these a batch norm makes mean and variance.
// Threads add up numbers relative to one of them, so that no variance is lost beside a large mean.
//
// Text before this one: source_head(); T, kSums (whether there are sums), kResultRows by kResultColumns results of an
// image, of kAllMaps maps.
struct PartOfSums {
  float shift, sum, squares, count;  // of the numbers less the shift, and of the squares of these
};

// Two numbers as they are stored.
__device__ __forceinline__ void numbers_of(u32 word, float (&out)[2]) {
  Pack<T, 2> numbers;
  numbers.words = word;
  unpack<float>(numbers, out);
}

// Adds a number that is inside the image. Selecting costs less than a branch.
__device__ __forceinline__ void add_apart(float x, float shift, bool inside, float& sum, float& squares) {
  const float apart = inside ? x - shift : 0;
  sum += apart, squares = fmaf(apart, apart, squares);
}

// Sums of a thread that has two maps, 8 apart, and of both neighbouring pixels 2 (lane % 4) of each row of 8. Four
// lanes have the same maps.
struct SumsOfTwoMaps {
  float shift[2], total[2], squares[2];
  int count, column;

  // Rows of pixels whose first is `columns` pixels before the image's end. `first` has the first number of both maps.
  __device__ __forceinline__ void come_to(u32 first, int rows, int columns) {
    column = threadIdx.x % 4 * 2;
    if (count == 0) numbers_of(first, shift);
    count += max(0, rows) * max(0, min(columns - column, 2));
  }
  __device__ __forceinline__ void add(u32 word, int which, bool inside, int columns) {
    float x[2];
    numbers_of(word, x);
#pragma unroll
    for (int j = 0; j < 2; ++j)
      add_apart(x[j], shift[which], inside && column + j < columns, total[which], squares[which]);
  }

  // Writes part `part` of `all` of each map, of the 16 from `map` on that a warp has.
  __device__ void leave(PartOfSums* parts, int map, int part, int all) const {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int which = 0; which < 2; ++which) {
      PartOfSums out = {__shfl_sync(~0u, shift[which], lane & ~3), 0, 0, float(count)};
      if (count > 0) {
        const float apart = shift[which] - out.shift;
        out.sum = total[which] + out.count * apart;
        out.squares = squares[which] + apart * (2 * total[which] + out.count * apart);
      }
#pragma unroll
      for (int other = 1; other < 4; other *= 2) {
        out.sum += __shfl_xor_sync(~0u, out.sum, other);
        out.squares += __shfl_xor_sync(~0u, out.squares, other);
        out.count += __shfl_xor_sync(~0u, out.count, other);
      }
      const int of_map = map + lane / 4 + which * 8;
      if (lane % 4 == 0 && of_map < kAllMaps) parts[i64(of_map) * all + part] = out;
    }
  }
};

// The sums of each map relative to its first result, by a block for each.
extern "C" __global__ void __launch_bounds__(kThreads)
    fold_parts(const float4* __restrict__ parts, const T* __restrict__ results, int count, float* sums,
               float* squares) {
  __shared__ float2 of_warps[kThreads / 32];
  const float first = get<float, T>(results, blockIdx.x);
  float2 total = {};
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const float4 part = parts[i64(blockIdx.x) * count + i];  // as PartOfSums
    if (part.w == 0) continue;
    const float apart = part.x - first;
    total.x += part.y + part.w * apart;
    total.y += part.z + apart * (2 * part.y + part.w * apart);
  }
  const auto fold = [&](int lanes) {
    for (int other = lanes / 2; other > 0; other /= 2) {
      total.x += __shfl_xor_sync(~0u, total.x, other);
      total.y += __shfl_xor_sync(~0u, total.y, other);
    }
  };
  fold(32);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = total;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  total = threadIdx.x < kThreads / 32 ? of_warps[threadIdx.x] : float2{};
  fold(32);
  if (threadIdx.x == 0) sums[blockIdx.x] = total.x, squares[blockIdx.x] = total.y;
}
