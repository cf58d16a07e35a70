// The gradient of a convolution's filters on the tensor cores of compute capability 9.0. A block takes tiles of the
// given gradient and the halo of the input that their windows see. Both have their channels last, so pixels are the
// depth of the products, and matrices are column by column: maps by pixels, times pixels by channels.
//
// A run of places of the filters that lie a step apart is one product: its columns are the channels of the pixels that
// the first place sees, then of those that the second sees, as the stride from one width of channels to the next.
// Outside of an array the copies bring zeros, which add nothing.
//
// Blocks share the tiles. Each writes its sums of f32 to a slice, and another kernel adds the slices in order.
//
// The host writes before this text: T, kDepth channels and kRun places of a product, kWide by kHigh squares of a tile,
// kStages places for tiles; multiply_add(sums, a, b, add), and the numbers of Tables.
constexpr int kTeams = 3, kConsumers = 128 * kTeams, kSide = 8, kMaps = 64;
constexpr int kPixelBytes = kDepth * 2, kGivenBytes = kMaps * 2, kColumns = kRun * kDepth;
constexpr int kTileBytes = kWide * kHigh * kSide * kSide * kGivenBytes;

struct Run {
  int at, first, count;  // pixels into the halo of the first place, its number, places
};
struct Group {  // of runs that read one halo, one run a team
  int from, row, column, first, count;
};
struct Tables {
  TensorMap inputs[kMostPlanes], given;
  int pitch, pixels, step_of_pixels, step_of_places;  // of a halo; from a place of a run to the next
  int across, down, tiles, slices;                    // tiles of an image and of all; shares of the tiles
  int groups, along, maps, places, channels;          // along the maps; of the filters
  Group groups_of[kMostGroups];
  Run runs[kMostRuns];
};

// Some maps and channels of the places of a group, which a block makes from a share of the tiles.
struct Work {
  int slice, group, map, channel;
  __device__ explicit Work(const Tables& of) {
    int number = blockIdx.x;
    group = number % of.groups, number /= of.groups;
    map = number % of.along * kMaps, number /= of.along;
    slice = number % of.slices, channel = number / of.slices * kDepth;
  }
};

struct Shared {
  u32 tiles, halo_bytes, barriers;
  __device__ Shared(u32 begin, const Tables& of) {
    tiles = (begin + 1023) / 1024 * 1024, halo_bytes = (of.pixels * kPixelBytes + 1023) / 1024 * 1024;
    barriers = tiles + kStages * (kTileBytes + halo_bytes);
  }
  __device__ u32 given(int i) const { return tiles + i * (kTileBytes + halo_bytes); }
  __device__ u32 halo(int i) const { return given(i) + kTileBytes; }
  __device__ u32 came(int i) const { return barriers + 8 * i; }
  __device__ u32 left(int i) const { return barriers + 8 * (kStages + i); }
};

__device__ void bring_tiles(const Tables& of, const Shared& shared, const Work& work) {
  const Group& group = of.groups_of[work.group];
  Ring<kStages> stage;
  for (int tile = work.slice; tile < of.tiles; tile += of.slices, stage.next()) {
    const int column = tile % of.across * kWide * kSide, row = tile / of.across % of.down * kHigh * kSide;
    const int image = tile / of.across / of.down;
    wait(shared.left(stage.at), stage.phase ^ 1);
    expect(shared.came(stage.at), kTileBytes + of.pixels * kPixelBytes);
    fetch(shared.given(stage.at), of.given, work.map, column, row, image, shared.came(stage.at));
    fetch(shared.halo(stage.at), of.inputs[group.from], work.channel, column + group.column, row + group.row, image,
          shared.came(stage.at));
  }
}

// A team's sums of its run, to its place in the slice. Lane 4 g + i of a warp has numbers 2 i and 2 i + 1 of rows g and
// g + 8 of its 16, in each 8 columns.
__device__ void put(const Tables& of, const Work& work, const Run& run, const float (&sums)[kColumns / 2],
                    float* slices) {
  const int lane = threadIdx.x % 32, row = work.map + threadIdx.x % 128 / 32 * 16 + lane / 4;
#pragma unroll
  for (int j = 0; j < kColumns / 8; ++j) {
    const int member = j * 8 / kDepth, channel = work.channel + j * 8 % kDepth + lane % 4 * 2;
    if (member >= run.count || channel >= of.channels) continue;
    const int place = run.first + member * of.step_of_places;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const i64 map = row + half * 8;
      if (map >= of.maps) continue;
      const i64 at = ((work.slice * i64(of.maps) + map) * of.places + place) * of.channels + channel;
      *reinterpret_cast<float2*>(slices + at) = float2{sums[j * 4 + half * 2], sums[j * 4 + half * 2 + 1]};
    }
  }
}

__device__ void multiply_tiles(const Tables& of, const Shared& shared, const Work& work, float* slices) {
  const int team = threadIdx.x / 128;
  const Group& group = of.groups_of[work.group];
  const Run& run = of.runs[group.first + min(team, group.count - 1)];
  const u32 across = of.step_of_pixels * kPixelBytes, halo_row = of.pitch * kPixelBytes;
  float sums[kColumns / 2];
#pragma unroll
  for (int i = 0; i < kColumns / 2; ++i) sums[i] = 0;
  Ring<kStages> stage;
  int before = -1;
  for (int tile = work.slice; tile < of.tiles; tile += of.slices, stage.next()) {
    wait(shared.came(stage.at), stage.phase);
    const u32 given = shared.given(stage.at), halo = shared.halo(stage.at) + run.at * kPixelBytes;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int square = 0; square < kWide * kHigh; ++square)
#pragma unroll
      for (int row = 0; row < kSide; row += 2) {  // 16 pixels: two rows of a square
        const int y = square / kWide * kSide + row, x = square % kWide * kSide;
        multiply_add(sums,
                     matrix_at<kGivenBytes>(given + (y * kWide * kSide + x) * kGivenBytes, kWide * kSide * kGivenBytes),
                     matrix_at<kPixelBytes>(halo + y * halo_row + x * kPixelBytes, halo_row, across), 1);
      }
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;" ::: "memory");
    if (before >= 0 && threadIdx.x % 128 == 0) arrive(shared.left(before));
    before = stage.at;
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  if (team < group.count) put(of, work, run, sums, slices);
}

extern "C" __global__ void __launch_bounds__(kConsumers + 32, 1)
    kernel(const __grid_constant__ Tables tables, float* slices) {
  extern __shared__ char memory[];
  const Shared shared(shared_place(memory), tables);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) start_barrier(shared.came(i), 1), start_barrier(shared.left(i), kTeams);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  const Work work(tables);
  if (threadIdx.x == kConsumers) bring_tiles(tables, shared, work);
  else if (threadIdx.x < kConsumers) multiply_tiles(tables, shared, work, slices);
}
