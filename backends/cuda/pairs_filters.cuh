// The gradient of filters of pairs_convolution.cuh: maps by pixels of the given gradient, times pixels by places of the
// filters. The halo's blocks of 8 pairs, which lie a pair apart, are those of the second matrix: eight columns of it
// are a pair of one row of the filters, the next eight that of the next row.
//
// Blocks share the tiles. Each writes its sums of f32 to a slice, and another kernel adds the slices in order.
//
// The host writes before this text: T, kWide by kHigh squares of a tile, kPitch pixels by kHaloRows of a halo, kStages
// places for both, kRowStep of the windows, kFilterRows by kTaps places of the filters, kInFront places
// in front of these, kBefore by kBeforeRows pixels before the image, kAllMaps; multiply_add(sums, a, b, add).
constexpr int kPairsOfRow = (kInFront + kTaps + 1) / 2, kColumns = 8 * kFilterRows, kSide = 8, kMaps = 64,
              kWorkers = 128;
constexpr int kPixelBytes = 8, kPairBytes = 16, kRowBytes = kPitch * kPixelBytes, kGivenBytes = kMaps * 2;
constexpr int kHaloBytes = (kRowBytes * kHaloRows + 1023) / 1024 * 1024;
constexpr int kTileBytes = kWide * kHigh * kSide * kSide * kGivenBytes;

struct Tables {
  TensorMap image, results;        // the results' gradient
  int across, down, along, tiles;  // of an image; of the maps; of all images
};
struct Shared {
  u32 tiles, barriers;
  __device__ explicit Shared(u32 begin) {
    tiles = (begin + 1023) / 1024 * 1024, barriers = tiles + kStages * (kTileBytes + kHaloBytes);
  }
  __device__ u32 given(int i) const { return tiles + i * (kTileBytes + kHaloBytes); }
  __device__ u32 halo(int i) const { return given(i) + kTileBytes; }
  __device__ u32 came(int i) const { return barriers + 8 * i; }
  __device__ u32 left(int i) const { return barriers + 8 * (kStages + i); }
};

__device__ void bring_tiles(const Tables& of, const Shared& shared, int map) {
  Ring<kStages> stage;
  for (int tile = blockIdx.x / of.along; tile < of.tiles; tile += gridDim.x / of.along, stage.next()) {
    const int column = tile % of.across * kWide * kSide, row = tile / of.across % of.down * kHigh * kSide;
    const int image = tile / of.across / of.down;
    wait(shared.left(stage.at), stage.phase ^ 1);
    expect(shared.came(stage.at), kTileBytes + kRowBytes * kHaloRows);
    fetch(shared.given(stage.at), of.results, map, column, row, image, shared.came(stage.at));
    fetch(shared.halo(stage.at), of.image, (column * 2 - kBefore) * 4, row * kRowStep - kBeforeRows, image,
          shared.came(stage.at));
  }
}

// The products of 16 pixels, two rows of a square, for each pair of a row of the filters.
__device__ __forceinline__ void multiply(float (&sums)[kPairsOfRow][kColumns / 2], u32 given, u32 halo) {
#pragma unroll
  for (int square = 0; square < kWide * kHigh; ++square)
#pragma unroll
    for (int row = 0; row < kSide; row += 2) {
      const int y = square / kWide * kSide + row, x = square % kWide * kSide;
      const u64 maps =
          matrix_at<kGivenBytes>(given + (y * kWide * kSide + x) * kGivenBytes, kWide * kSide * kGivenBytes);
#pragma unroll
      for (int pair = 0; pair < kPairsOfRow; ++pair)
        multiply_add(sums[pair], maps,
                     matrix_at<kPairBytes>(halo + y * kRowStep * kRowBytes + (x + pair) * kPairBytes, kRowBytes,
                                           kRowStep * kRowBytes),
                     1);
    }
}

// Lane 4 g + i of a warp has numbers 2 i and 2 i + 1 of rows g and g + 8 of its 16, in each 8 columns: two channels of
// a pixel of a pair.
__device__ void put(const float (&sums)[kPairsOfRow][kColumns / 2], int map, float* slice) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int pair = 0; pair < kPairsOfRow; ++pair)
#pragma unroll
    for (int row = 0; row < kFilterRows; ++row)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int of_map = map + threadIdx.x / 32 * 16 + lane / 4 + half * 8, tap = pair * 2 - kInFront + lane % 4 / 2;
        if (of_map >= kAllMaps || tap < 0 || tap >= kTaps) continue;
        const i64 at = ((i64(of_map) * kFilterRows + row) * kTaps + tap) * 4 + lane % 2 * 2;
        *reinterpret_cast<float2*>(slice + at) =
            float2{sums[pair][row * 4 + half * 2], sums[pair][row * 4 + half * 2 + 1]};
      }
}

__device__ void multiply_tiles(const Tables& of, const Shared& shared, int map, float* slice) {
  float sums[kPairsOfRow][kColumns / 2];
#pragma unroll
  for (int pair = 0; pair < kPairsOfRow; ++pair)
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) sums[pair][i] = 0;
  Ring<kStages> stage;
  int before = -1;
  for (int tile = blockIdx.x / of.along; tile < of.tiles; tile += gridDim.x / of.along, stage.next()) {
    wait(shared.came(stage.at), stage.phase);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    multiply(sums, shared.given(stage.at), shared.halo(stage.at));
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;" ::: "memory");
    if (before >= 0 && threadIdx.x == 0) arrive(shared.left(before));
    before = stage.at;
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  put(sums, map, slice);
}

extern "C" __global__ void __launch_bounds__(kWorkers + 32, kBlocks)
    kernel(const __grid_constant__ Tables tables, float* slices) {
  extern __shared__ char memory[];
  const Shared shared(shared_place(memory));
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) start_barrier(shared.came(i), 1), start_barrier(shared.left(i), 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  const int map = int(blockIdx.x) % tables.along * kMaps;
  float* const slice = slices + i64(blockIdx.x / tables.along) * kAllMaps * kFilterRows * kTaps * 4;
  if (threadIdx.x == kWorkers) bring_tiles(tables, shared, map);
  else if (threadIdx.x < kWorkers) multiply_tiles(tables, shared, map, slice);
}
