// Products inside a kernel that walks over rows: result (P,kAll) = rows (P,kInner) · weights, on the tensor cores of
// compute capability 9.0. A block has kColumns columns of the weights in shared memory, and takes kRowsOfTile rows of
// the result at a time, half of the columns by each half of its warps. Parts of rows, kDepth numbers long, arrive some
// products ahead, in kStages places.
//
// Shared memory has rows of 128 bytes, whose pieces of 16 bytes are permuted by the row's number, as the tensor cores
// ask for (PTX ISA, "Shared Memory Matrix Layout", 128-byte swizzle).
constexpr int kRowsOfTile = 64, kDepth = 64, kPieces = 8;
constexpr int kStageBytes = kRowsOfTile * kDepth * 2;

__device__ __forceinline__ u32 shared_place(const void* p) { return u32(__cvta_generic_to_shared(p)); }

// Rows of 128 bytes, eight of which are 1024 bytes, with the permutation that spans them.
__device__ __forceinline__ u64 matrix_at(u32 place) {
  return u64((place & 0x3FFFF) >> 4) | (u64(1) << 16) | (u64(64) << 32) | (u64(1) << 62);
}

// 16 bytes, or as many zeros.
__device__ __forceinline__ void bring(void* to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_place(to)), "l"(from), "r"(there ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void end_of_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all groups but the last `kLater`, also of other threads.
template <int kLater>
__device__ __forceinline__ void wait_for_brought() {
  asm volatile("cp.async.wait_group %0;\nfence.proxy.async.shared::cta;" ::"n"(kLater) : "memory");
  __syncthreads();
}

// Written before this text for the type and the columns of a kernel: multiply_add(sums, a, b, add), sums = a · bᵀ of 64
// rows by half of the columns, 16 numbers deep, added to what was there if `add`; pair_of(x, y), two numbers of T in a
// word.
template <typename T, int kColumns, int kInner, int kAll, bool kTurned, int kStages>
struct RowProduct {
  static constexpr int kParts = (kInner + kDepth - 1) / kDepth, kHalf = kColumns / 2,
                       kWeightBytes = kColumns * kDepth * 2;
  static constexpr int kResultBytes = kColumns * 2 + 16;  // of a row: neighbouring rows lie in other banks

  __device__ RowProduct(char* shared, const T* rows, i64 count, int first_tile, int tiles_apart)
      : shared_(shared + (1024 - shared_place(shared) % 1024) % 1024),
        rows_(rows),
        count_(count),
        tile_(first_tile),
        coming_(first_tile),
        apart_(tiles_apart) {}

  // Takes the weights of columns from `first` on, and the first rows.
  __device__ void begin(const T* weights, int first) {
    if (kTurned) turn_weights(weights, first);
    else
      for (int x = threadIdx.x; x < kColumns * kParts * kPieces; x += kThreads) {
        const int piece = x % kPieces, column = x / kPieces % kColumns, part = x / kPieces / kColumns;
        const int k = part * kDepth + piece * 8;
        const bool there = first + column < kAll && k < kInner;
        bring(weight(part, column, piece), there ? weights + i64(first + column) * kInner + k : weights, there);
      }
    for (int n = 1; n < kStages; ++n) bring_part();
    wait_for_brought<0>();
  }

  // Makes first_row(): the block's columns of the result's first row, rounded as the result is.
  __device__ void find_first_row() {
    for (int column = threadIdx.x; column < kColumns; column += kThreads) {
      float sum = 0;
#pragma unroll 4
      for (int k = 0; k < kInner; k += 8) {
        const Pack<T, 8> a = pack_at<T, 8>(rows_, k), b = pack_at<T, 8>(weight(k / kDepth, column, k % kDepth / 8), 0);
#pragma unroll
        for (int i = 0; i < 8; ++i) sum += widened(a.at[i]) * widened(b.at[i]);
      }
      firsts()[column] = widened(Stored<T>::from(sum));
    }
    __syncthreads();
  }
  __device__ float first_row(int column) const { return firsts()[column]; }

  // Multiplies the next tile, and goes on to the one after it. Returns its first row.
  __device__ i64 next() {
    float sums[kHalf / 2];
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      wait_for_brought<kStages - 2>();
      bring_part();  // into the place of the part before, which all have multiplied
      multiply(sums, part);
    }
    put(sums);
    __syncthreads();
    const i64 first = i64(tile_) * kRowsOfTile;
    tile_ += apart_;
    return first;
  }

  // Eight neighbours of a tile's row, from column 8 `pack` on.
  __device__ uint4 pack(int row, int pack) const {
    return *reinterpret_cast<const uint4*>(result() + row * kResultBytes + pack * 16);
  }

 private:
  __device__ char* weight(int part, int column, int piece) const {
    return shared_ + part * kWeightBytes + column * 128 + ((piece ^ (column % 8)) << 4);
  }
  __device__ char* stage(int s) const { return shared_ + kParts * kWeightBytes + s * kStageBytes; }
  __device__ char* result() const { return stage(kStages); }
  __device__ float* firsts() const { return reinterpret_cast<float*>(result() + kRowsOfTile * kResultBytes); }

  // Weights (kInner,kAll).
  __device__ void turn_weights(const T* weights, int first) {
    for (int x = threadIdx.x; x < kColumns / 8 * kParts * kDepth; x += kThreads) {
      const int k = x % (kParts * kDepth), column = x / (kParts * kDepth) * 8;
      Pack<T, 8> eight;
      eight.words = uint4{0, 0, 0, 0};
      if (k < kInner && first + column < kAll) eight = pack_at<T, 8>(weights, i64(k) * kAll + first + column);
#pragma unroll
      for (int i = 0; i < 8; ++i)
        reinterpret_cast<T*>(weight(k / kDepth, column + i, k % kDepth / 8))[k % 8] = eight.at[i];
    }
  }

  // The next part of the rows to come.
  __device__ void bring_part() {
#pragma unroll
    for (int i = 0; i < kRowsOfTile * kPieces / kThreads; ++i) {
      const int x = i * kThreads + threadIdx.x, piece = x % kPieces, row = x / kPieces;
      const int k = coming_part_ * kDepth + piece * 8;
      const i64 at = i64(coming_) * kRowsOfTile + row;
      const bool there = at < count_ && k < kInner;
      bring(stage(free_) + row * 128 + ((piece ^ (row % 8)) << 4), there ? rows_ + at * kInner + k : rows_, there);
    }
    end_of_group();
    free_ = free_ + 1 == kStages ? 0 : free_ + 1;
    if (++coming_part_ == kParts) coming_part_ = 0, coming_ += apart_;
  }

  __device__ int first_column() const { return threadIdx.x / 128 * kHalf; }

  __device__ void multiply(float (&sums)[kHalf / 2], int part) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    const u32 a = shared_place(stage(taken_)), b = shared_place(weight(part, first_column(), 0));
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k)
      multiply_add(sums, matrix_at(a + k * 32), matrix_at(b + k * 32), part + k > 0);
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    taken_ = taken_ + 1 == kStages ? 0 : taken_ + 1;
  }

  // In each 8 columns lane 4 g + i has numbers 2 i and 2 i + 1 of rows g and g + 8 of its warp's 16.
  __device__ void put(const float (&sums)[kHalf / 2]) {
    const int row = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4, column = first_column() + threadIdx.x % 4 * 2;
    char* const to = result() + row * kResultBytes + column * 2;
#pragma unroll
    for (int j = 0; j < kHalf / 8; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        *reinterpret_cast<u32*>(to + half * 8 * kResultBytes + j * 16) =
            pair_of(sums[j * 4 + half * 2], sums[j * 4 + half * 2 + 1]);
  }

  char* const shared_;
  const T* const rows_;
  const i64 count_;
  int tile_, coming_, coming_part_ = 0;  // the tile to be multiplied next; what is to be brought next
  const int apart_;
  int taken_ = 0, free_ = 0;  // stages
};
