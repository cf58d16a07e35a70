// A convolution of images, or its gradient by the input, on the tensor cores of compute capability 9.0, as a product
// that never writes its patches down. A block makes a tile of results from a halo: all pixels that the tile's windows
// see, some channels of them. Each place of the filters multiplies the halo, shifted by that place, so pixels come to
// shared memory once for all places, and not once for each.
//
// 64 rows of a product are a square of 8 by 8 pixels. Its 8 rows of pixels lie a row of the halo apart, which is the
// stride in the matrix's descriptor (PTX ISA, "Matrix Descriptor"). The permutation of shared memory follows the
// address alone, so a square may begin at any pixel. With 64 maps the maps may be the rows, and a strip of pixels the
// columns.
//
// Halves of a block share a tile. Where all filters find room in shared memory beside strips, filters come once, and
// halves take tiles in turn: while one stores its tile, the other multiplies.
//
// Windows that step by s > 1 see each s-th row and column: planes of the input, one for each remainder. A gradient has
// planes of results instead. Outside of an array the copies read zeros and write nothing.
//
// The host writes before this text: T, kDepth channels of a halo, kColumns maps of a tile, kTurned (filters have the
// maps last), kWide by kHigh squares of a tile, or strips kStrip pixels high where that is not 0, stored kStripRows
// rows at once, kHalos and kStages places for halos and filters, kTurns (halves take tiles in turn), what
// squares.cuh and result_sums.cuh need; multiply_add(sums, a, b, add), and the numbers of Tables.
constexpr int kConsumers = 256, kPixelBytes = kDepth * 2;
constexpr int kReaders = kTurns ? 1 : 2;  // halves that read what has come
// Boxes of results of a half, each of which is stored at once.
constexpr int kBoxes = kStrip > kStripRows ? 2 : 1, kBoxBytes = kStrip > 0 ? kStripRows *kSide * 128 : kStoredBytes;
constexpr int kFilterWidth = kTurned ? (kColumns < 64 ? kColumns : 64) : kDepth;  // numbers of a row in shared memory
constexpr int kFilterBytes = kDepth * kColumns * 2;

struct Part {                                // of the places of the filters: those that read one plane, and make one
  int from, to, row, column, first, places;  // the halo's first pixel, seen from the tile's; into Tables::places
};
struct Tables {
  TensorMap inputs[kMostPlanes], results[kMostPlanes], filters;
  int pitch, pixels;                               // of a halo: pixels in a row, and in all
  int across, down, along, planes, pieces, tiles;  // tiles of a plane and of all maps; of results; of the channels
  int parts_of[kMostPlanes + 1];                   // of each plane of results, the first part
  Part parts[kMostPlanes];
  u32 places[kMostPlaces];  // pixels into the halo, times 2^16, and place in the filters
};

struct Tile {
  int map, column, row, plane, image;  // of its first result
  __device__ Tile(const Tables& of, int number) {
    map = number % of.along * kColumns, number /= of.along;
    column = number % of.across * kWide * kSide, number /= of.across;
    row = number % of.down * kHigh * (kStrip > 0 ? kStrip : kSide), number /= of.down;
    plane = number % of.planes, image = number / of.planes;
  }
};

struct Shared {
  u32 halos, halo_bytes, filters, answers, barriers;
  __device__ Shared(u32 begin, const Tables& of) {
    halos = (begin + 1023) / 1024 * 1024, halo_bytes = (of.pixels * kPixelBytes + 1023) / 1024 * 1024;
    filters = halos + kHalos * halo_bytes, answers = filters + kStages * kFilterBytes;
    barriers = answers + 2 * kBoxes * kBoxBytes;
  }
  __device__ u32 halo(int i) const { return halos + i * halo_bytes; }
  __device__ u32 filter(int i) const { return filters + i * kFilterBytes; }
  __device__ u32 halo_came(int i) const { return barriers + 8 * i; }
  __device__ u32 halo_left(int i) const { return barriers + 8 * (kHalos + i); }
  __device__ u32 filter_came(int i) const { return barriers + 8 * (2 * kHalos + i); }
  __device__ u32 filter_left(int i) const { return barriers + 8 * (2 * kHalos + kStages + i); }
  __device__ u32 turn(int half) const { return barriers + 8 * (2 * kHalos + 2 * kStages + half); }
};

// Filters of channels k to k + 15 of a halo's.
__device__ u64 filters_at(u32 place, int k) {
  return kTurned
             ? matrix_at<kFilterWidth * 2>(place + k * kFilterWidth * 2, 16 * kFilterWidth, kDepth * kFilterWidth * 2)
             : matrix_at<kPixelBytes>(place + k * 2, 8 * kPixelBytes);
}
// The tiles that a half of a block works on.
__device__ int first_tile(int half) { return int(blockIdx.x + (kTurns ? half * gridDim.x : 0)); }
__device__ int step_of_tiles() { return int(kTurns ? 2 * gridDim.x : gridDim.x); }
// The threads of a half wait for each other.
__device__ void meet(int half) { asm volatile("bar.sync %0, 128;" ::"r"(1 + half) : "memory"); }

// One thread, which brings what the others multiply: halos one ahead where there are places for two.
struct Producer {
  const Tables& of;
  const Shared& shared;
  int coming = int(blockIdx.x), part = -1, piece = 0;  // of the halo to come
  Ring<kHalos> halo;
  Ring<kStages> stage;

  __device__ void bring_halo() {
    if (coming >= of.tiles) return;
    const Tile tile(of, coming);
    if (part < 0) part = of.parts_of[tile.plane];
    const Part& p = of.parts[part];
    wait(shared.halo_left(halo.at), halo.phase ^ 1);
    expect(shared.halo_came(halo.at), of.pixels * kPixelBytes);
    fetch(shared.halo(halo.at), of.inputs[p.from], piece * kDepth, tile.column + p.column, tile.row + p.row, tile.image,
          shared.halo_came(halo.at));
    halo.next();
    if (++piece < of.pieces) return;
    piece = 0;
    if (++part == of.parts_of[tile.plane + 1]) part = -1, coming += gridDim.x;
  }

  __device__ void bring_filters(int map, int place, int channel) {
    wait(shared.filter_left(stage.at), stage.phase ^ 1);
    const u32 came = shared.filter_came(stage.at), to = shared.filter(stage.at);
    expect(came, kFilterBytes);
    if (kTurned)
      for (int i = 0; i < kColumns; i += kFilterWidth)
        fetch(to + i * kDepth * 2, of.filters, map + i, place, channel, came);
    else fetch(to, of.filters, channel, place, map, came);
    stage.next();
  }

  __device__ void run() {
    if (kHalos > 1) bring_halo();
    for (int number = blockIdx.x; number < of.tiles; number += gridDim.x) {
      const Tile tile(of, number);
      for (int p = of.parts_of[tile.plane]; p < of.parts_of[tile.plane + 1]; ++p)
        for (int channel = 0; channel < of.pieces * kDepth; channel += kDepth) {
          if (kHalos == 1) bring_halo();
          const Part& now = of.parts[p];
          for (int i = 0; i < now.places; ++i) {
            if (!kTurns || number == blockIdx.x) bring_filters(tile.map, of.places[now.first + i] & 0xFFFF, channel);
            // The halo before is given back behind the first product of this one.
            if (kHalos > 1 && i == min(kStages, now.places) - 1) bring_halo();
          }
        }
    }
  }
};

// The share of each tile that half of the block's threads make: kMine squares from `begin` on. Pixels are the rows of a
// product.
template <int kMine, int kFirst>
struct Squares {
  const Tables& of;
  const Bias* const bias;
  const int half, begin;
  float sums[kMine][kColumns / 2];

  __device__ Squares(const Tables& tables, const Bias* offsets, int which)
      : of(tables), bias(offsets), half(which), begin(kFirst < 0 ? which * kMine : kFirst) {}

  // Bytes from the halo's first pixel to a square's.
  __device__ u32 square(int i) const {
    return ((begin + i) / kWide * kSide * of.pitch + (begin + i) % kWide * kSide) * kPixelBytes;
  }

  __device__ void multiply(u32 pixel, u32 filters, bool add) {
#pragma unroll
    for (int k = 0; k < kDepth; k += 16) {
      const u64 b = filters_at(filters, k);
#pragma unroll
      for (int i = 0; i < kMine; ++i)
        multiply_add(sums[i], matrix_at<kPixelBytes>(pixel + square(i) + k * 2, of.pitch * kPixelBytes), b,
                     add || k > 0);
    }
  }

  __device__ void store_tile(const Tile& tile, u32 to) {
    const bool first = threadIdx.x % 128 == 0;
#pragma unroll
    for (int from = 0; from < kColumns; from += kStored) {
      float biases[kStored / 4];
      take_biases(biases, bias, tile.map + from);
#pragma unroll
      for (int i = 0; i < kMine; ++i) {
        if (first) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");  // what was stored before has left
        meet(half);
        StoredWords words;
        round_square(sums[i], from, biases, words);
        put_square(words, to);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        meet(half);
        const int square = begin + i;
        if (first)
          store(of.results[tile.plane], to, tile.map + from, tile.column + square % kWide * kSide,
                tile.row + square / kWide * kSide, tile.image);
      }
    }
  }
};

// The share of each tile that half of the block's threads make: a strip, 8 pixels wide and kTall high. Maps are the
// rows of a product and the pixels its columns: with 64 maps, each number read from shared memory then takes part in
// more products.
template <int kTall>
struct Strip {
  static constexpr int kRows = kStripRows;  // of a box that is stored
  const Tables& of;
  const Bias* const bias;
  const int half, lane = threadIdx.x % 32, first_map = threadIdx.x % 128 / 32 * 16;
  Ring<kBoxes> box = {};
  float sums[kTall * 4];
  SumsOfTwoMaps seen = {};

  __device__ Strip(const Tables& tables, const Bias* offsets, int which) : of(tables), bias(offsets), half(which) {}
  __device__ int row() const { return kTurns ? 0 : half / kWide * kTall; }
  __device__ int column() const { return kTurns ? 0 : half % kWide * kSide; }

  __device__ void multiply(u32 pixel, u32 filters, bool add) {
    pixel += (row() * of.pitch + column()) * kPixelBytes;
#pragma unroll
    for (int k = 0; k < kDepth; k += 16)
      multiply_add(sums, filters_at(filters, k), matrix_at<kPixelBytes>(pixel + k * 2, of.pitch * kPixelBytes),
                   add || k > 0);
  }

  // Lane 4 g + i has maps g and g + 8 of its warp's 16, of pixels 2 i and 2 i + 1 of each row. Matrices of 8 maps and a
  // row of pixels are turned as they are stored.
  __device__ void put(int from, float low, float high, u32 to, int rows, int columns) {
#pragma unroll
    for (int y = 0; y < kRows; y += 2) {
      u32 words[4];
#pragma unroll
      for (int m = 0; m < 4; ++m) {
        const int at = (from + y + m / 2) * 4 + m % 2 * 2;
        const float offset = m % 2 ? high : low;
        words[m] = pair_of(finished(sums[at] + offset), finished(sums[at + 1] + offset));
        if (kSums) seen.add(words[m], m % 2, from + y + m / 2 < rows, columns);
      }
      const int x = lane % 8, pixel = (y + lane / 16) * kSide + x, pack = first_map / 8 + lane / 8 % 2;
      asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to + pixel * 128 +
                                                                                                  (pack ^ x) * 16),
                   "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
                   : "memory");
    }
  }

  __device__ void store_tile(const Tile& tile, u32 to) {
    const bool first = threadIdx.x % 128 == 0;
    const int map = tile.map + first_map + lane / 4;
    const float low = bias_of(bias, map), high = bias_of(bias, map + 8);
    const int rows = kResultRows - tile.row - row(), columns = kResultColumns - tile.column - column();
    if (kSums) seen.come_to(pair_of(finished(sums[0] + low), finished(sums[2] + high)), min(rows, kTall), columns);
#pragma unroll
    for (int y = 0; y < kTall; y += kRows) {
      const u32 place = to + box.at * kBoxBytes;
      // The box is free again.
      if (first && kBoxes == 1) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
      if (first && kBoxes == 2) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
      meet(half);
      put(y, low, high, place, rows, columns);
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      meet(half);
      if (first)
        store(of.results[tile.plane], place, tile.map, tile.column + column(), tile.row + row() + y, tile.image);
      box.next();
    }
  }
};

// Half of the block's threads, which multiply and store their part of each tile, or each second tile: Squares, or a
// Strip.
template <typename Share>
struct Consumer {
  const Tables& of;
  const Shared& shared;
  const int half = threadIdx.x / 128;
  const bool first = threadIdx.x % 128 == 0;
  Share mine;
  Ring<kHalos> halo;
  Ring<kStages> stage;
  u32 turn = half == 0;  // the parity of the phase that ends with the other half's products

  __device__ Consumer(const Tables& tables, const Shared& places, const Bias* bias)
      : of(tables), shared(places), mine(tables, bias, half) {}

  // All products of a tile. Places are given back when the product after theirs has begun.
  __device__ void multiply_tile(const Tile& tile) {
    int halo_left = -1, stage_left = -1;
    bool add = false;
    const auto give_back = [&] {
      if (first && stage_left >= 0 && !kTurns) arrive(shared.filter_left(stage_left));
      if (first && halo_left >= 0) arrive(shared.halo_left(halo_left));
      halo_left = -1;
    };
    for (int p = of.parts_of[tile.plane]; p < of.parts_of[tile.plane + 1]; ++p)
      for (int piece = 0; piece < of.pieces; ++piece) {
        const Part& now = of.parts[p];
        wait(shared.halo_came(halo.at), halo.phase);
        for (int i = 0; i < now.places; ++i) {
          wait(shared.filter_came(stage.at), kTurns ? 0 : stage.phase);
          asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
          mine.multiply(shared.halo(halo.at) + (of.places[now.first + i] >> 16) * kPixelBytes, shared.filter(stage.at),
                        add);
          asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
          add = true;
          asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
          give_back();
          stage_left = stage.at;
          stage.next();
        }
        halo_left = halo.at;
        halo.next();
        if (kHalos > 1) continue;
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        give_back();
        stage_left = -1;
      }
    if (kTurns && first) arrive(shared.turn(1 - half));
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    give_back();
  }

  __device__ void run(PartOfSums* parts) {
    if (kTurns && half > 0) halo.next();
    for (int number = first_tile(half); number < of.tiles; number += step_of_tiles()) {
      const Tile tile(of, number);
      if (kTurns) wait(shared.turn(half), turn), turn ^= 1;
      multiply_tile(tile);
      if (kTurns) halo.next();  // the other half's
      mine.store_tile(tile, shared.answers + half * kBoxes * kBoxBytes);
    }
    if constexpr (kSums) mine.seen.leave(parts, mine.first_map, blockIdx.x * 2 + half, gridDim.x * 2);
    if (first) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
};

template <int kTall>
__device__ __forceinline__ void consume(const Tables& tables, const Shared& shared, const Bias* bias,
                                        PartOfSums* parts) {
  constexpr int kSquares = kWide * kHigh, kMost = (kSquares + 1) / 2, kRest = kSquares > 1 ? kSquares - kMost : 1;
  if constexpr (kTall > 0) Consumer<Strip<kTall>>(tables, shared, bias).run(parts);
  else if constexpr (kSquares % 2 == 0) Consumer<Squares<kMost, -1>>(tables, shared, bias).run(parts);
  else if (threadIdx.x < 128) Consumer<Squares<kMost, 0>>(tables, shared, bias).run(parts);
  else Consumer<Squares<kRest, kMost>>(tables, shared, bias).run(parts);
}

// Threads that multiply take registers from those that do not, by 128 threads at a time.
extern "C" __global__ void __launch_bounds__(kConsumers + 128, 1)
    kernel(const __grid_constant__ Tables tables, const Bias* bias, PartOfSums* parts) {
  extern __shared__ char memory[];
  const Shared shared(shared_place(memory), tables);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kHalos; ++i)
      start_barrier(shared.halo_came(i), 1), start_barrier(shared.halo_left(i), kReaders);
    for (int i = 0; i < kStages; ++i)
      start_barrier(shared.filter_came(i), 1), start_barrier(shared.filter_left(i), kReaders);
    for (int half = 0; half < 2; ++half) start_barrier(shared.turn(half), 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x >= kConsumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == kConsumers) Producer{tables, shared}.run();
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    consume<kStrip>(tables, shared, bias, parts);
  }
}
