// The beginning of every generated kernel, after numbers.cuh: the state, random numbers, folds over lanes.

// Words that all kernels of a program share. See state.h.
struct State {
  u32 stopped, bad_index;
  int index, limit;
  i64 place;
};

// The row that element `place` of a list of indices names; one that does not exist is noted, and 0 taken.
__device__ __forceinline__ i64 looked_up(const void* indices, i64 place, int limit, State* state) {
  const int index = static_cast<const int*>(indices)[place];
  if (index >= 0 && index < limit) return index;
  if (atomicCAS(&state->bad_index, 0u, 1u) == 0u) {
    state->index = index;
    state->limit = limit;
    state->place = place;
  }
  return 0;
}

// Elements 4 group to 4 group + 3 of a Philox-4x32-10 stream, as neon/core/random.h has it.
struct Drawn {
  u32 bits[4];
};
__device__ __forceinline__ Drawn draw(u64 seed, u64 stream, u64 step, u64 group) {
  u32 c0 = u32(group), c1 = u32(group >> 32) ^ u32(step >> 32), c2 = u32(stream) ^ u32(step), c3 = u32(stream >> 32);
  u32 k0 = u32(seed), k1 = u32(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const u64 p0 = u64(0xD2511F53u) * c0, p1 = u64(0xCD9E8D57u) * c2;
    c0 = u32(p1 >> 32) ^ c1 ^ k0, c1 = u32(p1), c2 = u32(p0 >> 32) ^ c3 ^ k1, c3 = u32(p0);
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}
// 24 bits in [0, 1).
__device__ __forceinline__ float uniform_of(u32 bits) { return float(bits >> 8) * 0x1p-24f; }
__device__ __forceinline__ float uniform(u64 seed, u64 stream, u64 step, u64 element) {
  const Drawn x = draw(seed, stream, step, element / 4);
  const u32 lane = u32(element) & 3u;
  return uniform_of(lane == 0 ? x.bits[0] : lane == 1 ? x.bits[1] : lane == 2 ? x.bits[2] : x.bits[3]);
}
// Elements from `element` on, a multiple of 4.
template <int kCount>
__device__ __forceinline__ void uniform_all(u64 seed, u64 stream, u64 step, u64 element, float (&out)[kCount]) {
#pragma unroll
  for (int j = 0; j < kCount; j += 4) {
    const Drawn x = draw(seed, stream, step, (element + j) / 4);
#pragma unroll
    for (int lane = 0; lane < 4; ++lane) out[j + lane] = uniform_of(x.bits[lane]);
  }
}

struct FoldSum {
  template <typename R>
  __device__ static R start() {
    return R(0);
  }
  template <typename R>
  __device__ static R join(R a, R b) {
    return a + b;
  }
};
struct FoldMax {
  template <typename R>
  __device__ static R start() {
    return R(-neon_math::kInfinity64);
  }
  template <typename R>
  __device__ static R join(R a, R b) {
    return neon_math::maximum(a, b);
  }
};
struct FoldMin {
  template <typename R>
  __device__ static R start() {
    return R(neon_math::kInfinity64);
  }
  template <typename R>
  __device__ static R join(R a, R b) {
    return neon_math::minimum(a, b);
  }
};

// The first of the largest, or the first NaN. `at` is -1 before the first.
template <typename R>
struct Best {
  R value = R(0);
  i64 at = -1;
  __device__ void take(R other, i64 other_at) {
    if (other_at < 0) return;
    const bool mine_nan = value != value, other_nan = other != other;
    const bool better =
        mine_nan == other_nan ? (other > value || ((other == value || mine_nan) && other_at < at)) : other_nan;
    if (at < 0 || better) value = other, at = other_at;
  }
};

constexpr int kMostTogether = 8;  // numbers of a thread that are folded at once
template <typename R>
struct Scratch {
  R values[kThreads * kMostTogether];
  i64 places[kThreads];
};

// Folds over the lanes of a group; every lane gets the result. All threads of the block take part.
// kLanes neighbouring threads, a power of two:
template <typename Fold, int kLanes, typename R>
__device__ R fold_neighbours(R x, Scratch<R>& scratch) {
#pragma unroll
  for (int d = (kLanes < 32 ? kLanes : 32) / 2; d > 0; d /= 2)
    x = Fold::template join<R>(x, __shfl_xor_sync(0xffffffffu, x, d));
  if constexpr (kLanes > 32) {
    __syncthreads();
    if (threadIdx.x % 32 == 0) scratch.values[threadIdx.x / 32] = x;
    __syncthreads();
    constexpr int kWarps = kLanes / 32;
    const int first = threadIdx.x / kLanes * kWarps;
    x = scratch.values[first];
#pragma unroll
    for (int w = 1; w < kWarps; ++w) x = Fold::template join<R>(x, scratch.values[first + w]);
  }
  return x;
}
// Threads kStride apart, a power of two of at most 32; of kCount numbers each. First those of a warp, then one thread
// for each of the kCount * kStride results takes what the warps have.
template <typename Fold, int kStride, int kCount, typename R>
__device__ void fold_apart(R (&x)[kCount], Scratch<R>& scratch) {
  constexpr int kWarps = kThreads / 32;
#pragma unroll
  for (int d = 16; d >= kStride; d /= 2) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) x[j] = Fold::template join<R>(x[j], __shfl_xor_sync(0xffffffffu, x[j], d));
  }
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  __syncthreads();
  if (lane < kStride) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) scratch.values[(j * kWarps + warp) * kStride + lane] = x[j];
  }
  __syncthreads();
  if (threadIdx.x < kCount * kStride) {
    R* const mine = scratch.values + threadIdx.x / kStride * kWarps * kStride + threadIdx.x % kStride;
    R sum = mine[0];
#pragma unroll
    for (int w = 1; w < kWarps; ++w) sum = Fold::template join<R>(sum, mine[w * kStride]);
    mine[0] = sum;
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < kCount; ++j) x[j] = scratch.values[j * kWarps * kStride + threadIdx.x % kStride];
}
// Threads kAcross apart, kLanes of them, any numbers; of kCount numbers each. Threads beyond kAcross * kLanes take no
// part, but get a result.
template <typename Fold, int kAcross, int kLanes, int kCount, typename R>
__device__ void fold_columns(R (&x)[kCount], Scratch<R>& scratch) {
  static_assert(kCount <= kMostTogether && kAcross * kLanes <= kThreads);
  __syncthreads();
#pragma unroll
  for (int j = 0; j < kCount; ++j) scratch.values[j * kThreads + threadIdx.x] = x[j];
  __syncthreads();
  for (int n = threadIdx.x; n < kAcross * kCount; n += kThreads) {
    R* const mine = scratch.values + n / kAcross * kThreads + n % kAcross;
    R sum = mine[0];
#pragma unroll 8
    for (int l = 1; l < kLanes; ++l) sum = Fold::template join<R>(sum, mine[l * kAcross]);
    mine[0] = sum;
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < kCount; ++j) x[j] = scratch.values[j * kThreads + threadIdx.x % kAcross];
}
template <int kLanes, int kStride, typename R>
__device__ i64 fold_best(Best<R> x, Scratch<R>& scratch) {
  __syncthreads();
  scratch.values[threadIdx.x] = x.value;
  scratch.places[threadIdx.x] = x.at;
  __syncthreads();
  const int first = kStride == 1 ? threadIdx.x / kLanes * kLanes : threadIdx.x % kStride;
  Best<R> best;
  for (int i = 0; i < kLanes; ++i) best.take(scratch.values[first + i * kStride], scratch.places[first + i * kStride]);
  return best.at;
}

// Waits until `arrivals` blocks have come here, this one among them; what they wrote before is then seen. They must all
// run at the same time. Where it is the last meeting of a kernel, the last to come leaves the counter at 0 for the
// next. One thread releases and acquires for its block: a fence of each thread takes longer than the meeting. Below
// compute capability 7.0 there are fences alone.
template <bool kLast = false>
__device__ __forceinline__ void meet(u32* counter, u32 arrivals) {
  __syncthreads();
  if (threadIdx.x == 0) {
#if __CUDA_ARCH__ >= 700
    u32 came;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;" : "=r"(came) : "l"(counter) : "memory");
    if (kLast && came == arrivals - 1) {
      *(volatile u32*)counter = 0;
    } else {
      do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(came) : "l"(counter) : "memory");
      while (came < arrivals && !(kLast && came == 0));
    }
#else
    __threadfence();
    volatile u32* const seen = counter;
    if (atomicAdd(counter, 1u) == arrivals - 1 && kLast) *seen = 0;
    else
      for (u32 came = *seen; came < arrivals && !(kLast && came == 0); came = *seen) {
      }
    __threadfence();
#endif
  }
  __syncthreads();
}

// The last of `blocks` to arrive sees what all others wrote before. The ticket is left at 0 for the next run.
__device__ __forceinline__ bool is_last_of(u32* ticket, u32 blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(ticket, 1u) == blocks - 1;
    if (last) *ticket = 0;
  }
  __syncthreads();
  __threadfence();
  return last;
}
