// The products of a recurrent cell's steps, with weights that stay in registers from the first step to the last.
//
// A team of kTeam blocks takes kBatch samples through all steps; each of its blocks has kOwn of the cell's units, and
// keeps their rows of the weights. Blocks give each other what they compute through memory, a slot for each step. It is
// filled with words that no number is stored as, and whoever waits for a number reads its place until it is another:
// no counter and no fence is on the way from one step to the next. A team's blocks must run at the same time;
// teams do not wait for each other.
//
// Constants of a kernel: kSamples, kSteps, kUnits of the whole; kOwn, kTeam, kBatch; kSlots of an exchange, kSegment
// steps after which some are emptied, 0: never; kInOrder: more teams than fit the GPU at once; kReverse, kPadded.
extern __shared__ uint4 shared_memory[];
constexpr int kLine = 32;  // numbers of a sample that lie together in a slot
constexpr int kWarps = kThreads / 32;
constexpr u32 kMostWaits = 1u << 24;  // more than any step takes: some seconds

__device__ constexpr int rounded_up(int x, int by) { return (x + by - 1) / by * by; }
__device__ constexpr int quotient_up(int x, int by) { return (x + by - 1) / by; }

template <int kBytes>
__device__ __forceinline__ bool is_missing(const uint4& x) {
  if constexpr (kBytes == 4) return x.x == ~0u || x.y == ~0u || x.z == ~0u || x.w == ~0u;
  // A half of all ones is one of all zeros of the complement.
  const auto empty = [](u32 word) { return (~word - 0x00010001u) & word & 0x80008000u; };
  return (empty(x.x) | empty(x.y) | empty(x.z) | empty(x.w)) != 0;
}
__device__ __forceinline__ uint4 read_now(const void* p) {
  uint4 x;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
               : "l"(p)
               : "memory");
  return x;
}
// Reads kCount packs until all their numbers are there; `from(j)` is the place of pack j.
template <int kBytes, int kCount, typename From>
__device__ __forceinline__ void wait_for(uint4 (&packs)[kCount], bool read, From from) {
  for (u32 waits = 0;; ++waits) {
    bool missing = false;
    if (read) {
#pragma unroll
      for (int j = 0; j < kCount; ++j) packs[j] = read_now(from(j));
    }
#pragma unroll
    for (int j = 0; j < kCount; ++j) missing = is_missing<kBytes>(packs[j]) || missing;
    if (!missing) return;
    if (waits == kMostWaits) asm volatile("trap;");
    read = true;
  }
}

// The memory through which a team's blocks give each other kInner numbers of each sample and step.
template <typename T, int kInner, int kPaddedInner>
struct Exchange {
  static constexpr i64 kSlot = i64(kPaddedInner) * kBatch, kElements = kSlots * kSlot;
  typedef typename Words<sizeof(T)>::type Word;
  T* memory;

  __device__ __forceinline__ T* slot(int step) const {
    return memory + (kSlots < kSteps ? step % kSlots : step) * kSlot;
  }
  __device__ __forceinline__ T* place(int step, int sample, int k) const {
    return slot(step) + (k / kLine * kBatch + sample) * kLine + k % kLine;
  }
  // Numbers k to k + kCount - 1 of a sample, k a multiple of kCount.
  template <int kCount>
  __device__ __forceinline__ void give(int step, int sample, int k, const T (&numbers)[kCount]) const {
    Pack<T, kCount> pack;
    constexpr Word kEmpty = Word(~Word(0)), kNan = kEmpty >> 1;
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      const Word word = *reinterpret_cast<const Word*>(&numbers[j]);
      *reinterpret_cast<Word*>(&pack.at[j]) = word == kEmpty ? kNan : word;
    }
    write(place(step, sample, k), pack.words);
  }
  template <int kCount>
  __device__ __forceinline__ void empty(int step, int sample, int k) const {
    Pack<T, kCount> pack;
#pragma unroll
    for (int j = 0; j < kCount; ++j) *reinterpret_cast<Word*>(&pack.at[j]) = Word(~Word(0));
    write(place(step, sample, k), pack.words);
  }
  // All slots empty, and 0 where nobody will write. All blocks of the team do a part.
  __device__ void begin(int rank, int samples) const {
    constexpr int kWide = 16 / int(sizeof(T));
    for (i64 i = rank * kThreads + threadIdx.x; i < kElements / kWide; i += kTeam * kThreads) {
      const i64 first = i * kWide;
      const int k = int(first / (kLine * kBatch) % (kPaddedInner / kLine) * kLine + first % kLine);
      const bool present = first / kLine % kBatch < samples;
      Pack<T, kWide> pack;
#pragma unroll
      for (int j = 0; j < kWide; ++j)
        *reinterpret_cast<Word*>(&pack.at[j]) = present && k + j < kInner ? Word(~Word(0)) : Word(0);
      *reinterpret_cast<uint4*>(memory + first) = pack.words;
    }
  }

 private:
  __device__ static __forceinline__ void write(T* to, u16 x) { *reinterpret_cast<volatile u16*>(to) = x; }
  __device__ static __forceinline__ void write(T* to, u32 x) { *reinterpret_cast<volatile u32*>(to) = x; }
  __device__ static __forceinline__ void write(T* to, uint2 x) {
    asm volatile("st.volatile.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(x.x), "r"(x.y) : "memory");
  }
  __device__ static __forceinline__ void write(T* to, uint4 x) {
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w)
                 : "memory");
  }
};

// Rows of the weights w (rows, kUnits) that lie there as they are multiplied: row r of a block's is unit r % kOwn of
// gate r / kOwn, and k goes along memory.
template <typename T>
struct ForwardWeights {
  static constexpr bool kAlong = kUnits % (16 / int(sizeof(T))) == 0;
  const T* w;  // of the first gate
  int first;   // unit
  int rows;    // of the block
  __device__ __forceinline__ bool has(int row, int k) const {
    return row < rows && first + row % kOwn < kUnits && k < kUnits;
  }
  __device__ __forceinline__ const T* at(int row, int k) const {
    return w + (i64(row / kOwn) * kUnits + first + row % kOwn) * kUnits + k;
  }
};
// Their transpose: row r is what unit r of the block is given, number k that of gate k % kGates of unit k / kGates.
template <typename T, int kGates>
struct BackwardWeights {
  static constexpr bool kAlong = false;
  const T* w;
  int first;
  int rows;
  __device__ __forceinline__ bool has(int row, int k) const {
    return row < rows && first + row < kUnits && k < kGates * kUnits;
  }
  __device__ __forceinline__ const T* at(int row, int k) const {
    return w + (i64(k % kGates) * kUnits + k / kGates) * kUnits + first + row;
  }
};
// Numbers k to k + kCount - 1 of a row, 0 beyond its end.
template <typename T, int kCount, typename Weights>
__device__ __forceinline__ Pack<T, kCount> weights_at(const Weights& weights, int row, int k) {
  Pack<T, kCount> pack;
  if constexpr (Weights::kAlong && sizeof(T) * kCount == 16) {
    pack.words = uint4{0, 0, 0, 0};
    if (weights.has(row, k)) pack = pack_at<T, kCount>(weights.at(row, k), 0);
  } else {
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      pack.at[j] = Stored<T>::from(0.0f);
      if (weights.has(row, k + j)) pack.at[j] = *weights.at(row, k + j);
    }
  }
  return pack;
}

// The team that a block is of, and the end of all teams. Tickets: of the order of blocks, of their end, one a team.
struct Member {
  int team, rank;
};
__device__ __forceinline__ Member join_team(u32* ticket) {
  int block = blockIdx.x;
  if constexpr (kInOrder) {
    __shared__ int number;
    if (threadIdx.x == 0) number = int(atomicAdd(ticket + 1, 1u));
    __syncthreads();
    block = number;
  }
  return {block / kTeam, block % kTeam};
}
__device__ __forceinline__ void leave_team(u32* ticket) {
  if (!is_last_of(ticket + 2, gridDim.x)) return;
  for (int i = threadIdx.x; i < 1 + int(gridDim.x) / kTeam; i += kThreads) ticket[i ? 2 + i : 1] = 0;
}

// The numbers that a thread computes for each step: those of one unit and sample in each of kEach rounds.
constexpr int kEach = quotient_up(kOwn * kBatch, kThreads);
struct Place {
  int own, sample, unit;  // unit of the block, sample of the team; unit of all
  i64 n;                  // sample of all
  bool exists;
  __device__ __forceinline__ Place(const Member& member, int round) {
    const int i = round * kThreads + threadIdx.x;
    own = i % kOwn, sample = i / kOwn;
    unit = member.rank * kOwn + own;
    n = i64(member.team) * kBatch + sample;
    exists = sample < kBatch && unit < kUnits && n < kSamples;
  }
};
__device__ __forceinline__ int samples_of(const Member& member) {
  const i64 left = i64(kSamples) - i64(member.team) * kBatch;
  return left < kBatch ? int(left) : kBatch;
}
__device__ __forceinline__ int step_forward(int s) { return kReverse ? kSteps - 1 - s : s; }
__device__ __forceinline__ int step_backward(int s) { return kReverse ? s : kSteps - 1 - s; }
// body(round, place) for all numbers of this thread that exist.
template <typename Body>
__device__ __forceinline__ void each_place(const Member& member, Body body) {
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const Place at(member, e);
    if (at.exists) body(e, at);
  }
}
// Before the numbers of step s are given, every kSegment steps: empties the slots of kSegment steps, those from
// s - 2 kSegment on. Everybody has read the numbers of steps up to s - 2 then; the slots are used again kSegment steps
// later at the earliest, after another of these fences.
template <int kCount, typename... Exchanges>
__device__ __forceinline__ void empty_old(const Member& member, int s, const Exchanges&... exchanges) {
  constexpr int kEvery = kSegment ? kSegment : 1;
  if (kSegment == 0 || s % kEvery || s < 2 * kSegment) return;
  each_place(member, [&](int, const Place& at) {
    for (int d = 0; d < kSegment; ++d)
      (exchanges.template empty<kCount>(s - 2 * kSegment + d, at.sample, kCount * at.unit), ...);
  });
  __threadfence();
}

// Steps of each sample of this thread that are no padding.
template <typename Length>
__device__ __forceinline__ void take_lengths(const Member& member, Length length_of, int (&lengths)[kEach]) {
  each_place(member, [&](int e, const Place& at) { lengths[e] = kPadded ? length_of(at.n) : kSteps; });
}
// The first states, which are given for step 0.
template <typename T, typename States>
__device__ __forceinline__ void begin_states(const Member& member, const States& states, const T* h0, T (&h)[kEach]) {
  each_place(member, [&](int e, const Place& at) {
    h[e] = h0[at.n * kUnits + at.unit];
    states.template give<1>(0, at.sample, at.unit, {h[e]});
  });
}
// Reads z of each gate in step s, a step ahead; its numbers are converted where they are used, so that nothing waits.
template <int kGates, typename T>
__device__ __forceinline__ void read_ahead(const Member& member, const T* z, int s, T (&ahead)[kEach][kGates]) {
  if (s >= kSteps) return;
  each_place(member, [&](int e, const Place& at) {
    const i64 first = (at.n * kSteps + step_forward(s)) * kGates * kUnits + at.unit;
#pragma unroll
    for (int g = 0; g < kGates; ++g) ahead[e][g] = z[first + g * kUnits];
  });
}
