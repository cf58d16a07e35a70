// A convolution of images of four channels by filters that step by two along a row, on the tensor cores of compute
// capability 9.0. Two pixels side by side, a pair, are eight numbers of 16 bits: a row of a matrix's block of 8 by 8.
// The windows of neighbouring results begin a pair apart. So the pixels themselves, as they come to shared memory, are
// the blocks of a matrix of windows by places, which overlap; nothing writes patches down.
//
// Copies begin at 16 bytes, at an even pixel. Where windows begin at odd ones, filters have a place more in front, and
// one more behind where their width is then odd. Both are 0; a NaN that they meet spreads.
//
// Filters lie in shared memory for as long as a block runs.
//
// The host writes before this text: T, kColumns maps of a tile, kWide by kHigh squares of a tile, kPitch pixels by
// kHaloRows of a halo and kHalos places for these, kRowStep of the windows, kFilterRows by kTaps places of the filters,
// kInFront places in front of these, kBefore by kBeforeRows pixels before the image, and what squares.cuh and
// result_sums.cuh need; multiply_add(sums, a, b, add).
constexpr int kPairsOfRow = (kInFront + kTaps + 1) / 2, kPairs = kFilterRows * kPairsOfRow;  // of a window
constexpr int kProducts = (kPairs + 1) / 2;                                                  // of two pairs each
constexpr int kPixelBytes = 8, kPairBytes = 16, kRowBytes = kPitch * kPixelBytes, kWorkers = 128;
constexpr int kHaloBytes = (kRowBytes * kHaloRows + 127) / 128 * 128;
constexpr int kFilterBytes = kProducts * 2 * kColumns * kPairBytes, kSquares = kWide * kHigh;

struct Tables {
  TensorMap image, results;
  int across, down, along, tiles;  // of an image; of the maps; of all images for some maps
};
struct Shared {
  u32 answers, filters, halos, barriers;
  __device__ explicit Shared(u32 begin) {
    answers = (begin + 1023) / 1024 * 1024, filters = answers + 2 * kStoredBytes;
    halos = filters + kFilterBytes, barriers = halos + kHalos * kHaloBytes;
  }
  __device__ u32 halo(int i) const { return halos + i * kHaloBytes; }
  __device__ u32 came(int i) const { return barriers + 8 * i; }
  __device__ u32 left(int i) const { return barriers + 8 * (kHalos + i); }
  __device__ u32 sums() const { return barriers + 8 * 2 * kHalos; }
};
// A tile's first result. Blocks of one map take turns.
struct Tile {
  int column, row, image;
  __device__ Tile(const Tables& of, int number) {
    column = number % of.across * kWide * kSide, number /= of.across;
    row = number % of.down * kHigh * kSide, image = number / of.down;
  }
  __device__ int row_of(int square) const { return row + square / kWide * kSide; }
  __device__ int column_of(int square) const { return column + square % kWide * kSide; }
};

// The first pair of product k. The last takes a pair a second time where their number is odd; its filter is 0.
__device__ constexpr int first_pair(int k) { return 2 * k + 1 < kPairs ? 2 * k : kPairs - 2; }
// Bytes from a window's first pixel to a pair.
__device__ constexpr int place_of(int pair) { return pair / kPairsOfRow * kRowBytes + pair % kPairsOfRow * kPairBytes; }

// Blocks of 8 maps by a pair, pair by pair as the products take them.
__device__ void bring_filters(const T* filters, int map, u32 to) {
  const uint2* const taps = reinterpret_cast<const uint2*>(filters);  // of four channels
  for (int n = threadIdx.x; n < kProducts * 2 * kColumns; n += kWorkers) {
    const int slot = n / kColumns, of_map = map + n % kColumns, pair = first_pair(slot / 2) + slot % 2;
    uint2 first = {}, second = {};
    if (of_map < kAllMaps && (slot % 2 || first_pair(slot / 2) == slot)) {
      const int tap = pair % kPairsOfRow * 2 - kInFront;
      const i64 at = (i64(of_map) * kFilterRows + pair / kPairsOfRow) * kTaps + tap;
      if (tap >= 0) first = taps[at];
      if (tap + 1 < kTaps) second = taps[at + 1];
    }
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to + n * kPairBytes), "r"(first.x), "r"(first.y),
                 "r"(second.x), "r"(second.y)
                 : "memory");
  }
}

__device__ void bring_halos(const Tables& of, const Shared& shared) {
  Ring<kHalos> halo;
  for (int number = blockIdx.x / of.along; number < of.tiles; number += gridDim.x / of.along, halo.next()) {
    const Tile tile(of, number);
    wait(shared.left(halo.at), halo.phase ^ 1);
    expect(shared.came(halo.at), kRowBytes * kHaloRows);
    fetch(shared.halo(halo.at), of.image, (tile.column * 2 - kBefore) * 4, tile.row * kRowStep - kBeforeRows,
          tile.image, shared.came(halo.at));
  }
}

__device__ __forceinline__ void meet() { asm volatile("bar.sync 1, 128;" ::: "memory"); }

// Sums of a thread's results, of kColumns / 4 maps, relative to the first ones of the block.
struct SumsOfMaps {
  static_assert(!kSums || kColumns <= kStored, "the words of a tile are those of all its maps");
  static constexpr int kMine = kSums ? kColumns / 4 : 1;
  const u32 shifts;  // in shared memory, one a map
  const int lane = threadIdx.x % 32;
  float total[kMine] = {}, squares[kMine] = {};
  int count = 0;
  bool begun = false;

  // Adds a square whose first result lies there.
  __device__ void take(const StoredWords& words, int row, int column) {
    if (!begun) begin(words);
    bool inside[2];
#pragma unroll
    for (int pixel = 0; pixel < 2; ++pixel) {
      const int at = threadIdx.x / 32 * 16 + lane / 4 + pixel * 8;
      inside[pixel] = row + at / kSide < kResultRows && column + at % kSide < kResultColumns;
      count += inside[pixel];
    }
#pragma unroll
    for (int b = 0; b < kMine / 2; ++b) {
      float shift[2], x[2];
      asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                   : "=f"(shift[0]), "=f"(shift[1])
                   : "r"(shifts + (b * 8 + lane % 4 * 2) * 4));
#pragma unroll
      for (int pixel = 0; pixel < 2; ++pixel) {
        numbers_of(words[b][pixel], x);
#pragma unroll
        for (int j = 0; j < 2; ++j) add_apart(x[j], shift[j], inside[pixel], total[b * 2 + j], squares[b * 2 + j]);
      }
    }
  }
  __device__ void begin(const StoredWords& words) {
    begun = true;
    if (threadIdx.x < 4)
#pragma unroll
      for (int b = 0; b < kMine / 2; ++b) {
        float x[2];
        numbers_of(words[b][0], x);
        asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(shifts + (b * 8 + lane * 2) * 4), "f"(x[0]), "f"(x[1])
                     : "memory");
      }
    meet();
  }

  // Writes the sums of the block as a part of each map's. `scratch` has a row for each warp.
  __device__ void leave(PartOfSums* parts, const float* shift_of, float4* scratch, int map, int part, int all) {
    float of_lanes = float(count);
    const auto fold = [](float& x) {
#pragma unroll
      for (int other = 4; other < 32; other *= 2) x += __shfl_xor_sync(~0u, x, other);
    };
    fold(of_lanes);
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      fold(total[i]), fold(squares[i]);
      if (lane < 4)
        scratch[threadIdx.x / 32 * kColumns + i / 2 * 8 + lane * 2 + i % 2] = {total[i], squares[i], of_lanes, 0};
    }
    meet();
    const int own = threadIdx.x;
    if (own >= kColumns || map + own >= kAllMaps) return;
    PartOfSums out = {shift_of[own], 0, 0, 0};
    for (int warp = 0; warp < kWorkers / 32; ++warp) {
      const float4 of_warp = scratch[warp * kColumns + own];
      out.sum += of_warp.x, out.squares += of_warp.y, out.count += of_warp.z;
    }
    parts[i64(map + own) * all + part] = out;
  }
};

struct Worker {
  const Tables& of;
  const Shared& shared;
  const Bias* const bias;
  const int map;
  const bool first = threadIdx.x == 0;
  Ring<2> box = {};
  SumsOfMaps seen = {shared.sums()};

  __device__ void multiply(float (&sums)[kColumns / 2], u32 halo, int square) {
    const u32 window = halo + square / kWide * kSide * kRowStep * kRowBytes + square % kWide * kSide * kPairBytes;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < kProducts; ++k) {
      const int pair = first_pair(k);
      multiply_add(
          sums,
          matrix_at<kPairBytes>(window + place_of(pair), kRowStep * kRowBytes, place_of(pair + 1) - place_of(pair)),
          matrix_at<kPairBytes>(shared.filters + k * 2 * kColumns * kPairBytes, kSide * kPairBytes,
                                kColumns * kPairBytes),
          k > 0);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }

  __device__ void store_square(const float (&sums)[kColumns / 2], const Tile& tile, int square) {
#pragma unroll
    for (int from = 0; from < kColumns; from += kStored) {
      const u32 place = shared.answers + box.at * kStoredBytes;
      float biases[kStored / 4];
      take_biases(biases, bias, map + from);
      StoredWords words;
      round_square(sums, from, biases, words);
      if constexpr (kSums) seen.take(words, tile.row_of(square), tile.column_of(square));
      if (first) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");  // what lay in the box has left
      meet();
      put_square(words, place);
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      meet();
      if (first) store(of.results, place, map + from, tile.column_of(square), tile.row_of(square), tile.image);
      box.next();
    }
  }

  // A square is stored while the next one is multiplied.
  __device__ void run(PartOfSums* parts) {
    Ring<kHalos> halo;
    for (int number = blockIdx.x / of.along; number < of.tiles; number += gridDim.x / of.along, halo.next()) {
      const Tile tile(of, number);
      float sums[2][kColumns / 2];
      wait(shared.came(halo.at), halo.phase);
#pragma unroll
      for (int square = 0; square < kSquares; ++square) {
        multiply(sums[square % 2], shared.halo(halo.at), square);
        if (square == 0) continue;
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        store_square(sums[(square + 1) % 2], tile, square - 1);
      }
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      if (first) arrive(shared.left(halo.at));
      store_square(sums[(kSquares + 1) % 2], tile, kSquares - 1);
    }
    if (first) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    if (!kSums) return;
    meet();  // the boxes are free
    seen.leave(parts, static_cast<const float*>(shared_address(shared.sums())),
               static_cast<float4*>(shared_address(shared.answers)), map, blockIdx.x / of.along, gridDim.x / of.along);
  }
};

extern "C" __global__ void __launch_bounds__(kWorkers + 32, kBlocks)
    kernel(const __grid_constant__ Tables tables, const T* filters, const Bias* bias, PartOfSums* parts) {
  extern __shared__ char memory[];
  const Shared shared(shared_place(memory));
  const int map = int(blockIdx.x) % tables.along * kColumns;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kHalos; ++i) start_barrier(shared.came(i), 1), start_barrier(shared.left(i), 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (threadIdx.x < kWorkers) bring_filters(filters, map, shared.filters);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == kWorkers) bring_halos(tables, shared);
  else if (threadIdx.x < kWorkers) Worker{tables, shared, bias, map}.run(parts);
}
