// The body of patches. A block takes a tile of kRows x kColumns neighbouring outputs of an image, and lays what their
// windows see of x in shared memory, zeros outside, so that an element is read once, together with its neighbours: rows
// there begin at whole groups of them. Neighbouring threads write neighbouring channels, as many as an access goes
// wide. A thread has the same channels of all its outputs, whose places in a window it works out once.
// depth_source.cpp replaces GIVEN by a function that reads x, SEE by one that makes `seen`, NUMBER by a number that a
// window sees, STORE by a statement that writes `out`.
// clang-format off

  const u32 tile = blockIdx.x % (kTilesY * kTilesX);
  const int p = int(tile / kTilesX) * kRows, q = int(tile % kTilesX) * kColumns;
  const i64 image = blockIdx.x / (kTilesY * kTilesX);
  const int top = p * kStepY - kBeforeY, left = (q * kStepX - kBeforeX) * kC;
GIVEN
SEE
  constexpr int kPacks = kChannels / kWidth, kLanes = kPacks < kThreads ? kPacks : kThreads;
  for (int pack = threadIdx.x % kLanes; pack < kPacks; pack += kLanes) {
    // Channels from kSeen on are 0. They look at the last, as a compiler may read before it asks whether to.
    int down[kWidth], across[kWidth];
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      const int channel = min(pack * kWidth + e, kSeen > 0 ? kSeen - 1 : 0), place = channel / kC;
      down[e] = place / kS * kDilationY, across[e] = place % kS * kDilationX * kC + channel % kC;
    }
    for (int o = threadIdx.x / kLanes; o < kRows * kColumns; o += kThreads / kLanes) {
      const int y = o / kColumns, x = o % kColumns;
      if (p + y >= kP || q + x >= kQ) continue;
      R out[kWidth];
#pragma unroll
      for (int e = 0; e < kWidth; ++e) out[e] = pack * kWidth + e < kSeen ? NUMBER : R(0);
      STORE;
    }
  }
