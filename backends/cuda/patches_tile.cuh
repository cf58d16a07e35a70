// SEE of patches.cuh: the windows of a tile find what they see in shared memory.
// clang-format off

  struct alignas(sizeof(R) * kGroup) Group {
    R of[kGroup];
  };
  __shared__ Group groups[kSeenRows * kSeenColumns / kGroup];
  const R* const seen = groups[0].of + (left & (kGroup - 1));
  for (int i = threadIdx.x; i < kSeenRows * kSeenColumns / kGroup; i += kThreads) {
    const int y = top + i / (kSeenColumns / kGroup);
    const int x = (left & ~(kGroup - 1)) + i % (kSeenColumns / kGroup) * kGroup;
    Group numbers = {};
    if (u32(y) < u32(kH) && u32(x) < u32(kRow)) given(y, x, numbers.of);
    groups[i] = numbers;
  }
  __syncthreads();
