// The body of columns. A block turns squares of kChannels by kOutputs, one for each place of the window, by way of
// shared memory: neighbouring threads read neighbouring channels and write neighbouring outputs. The blocks of all
// channels of the same outputs follow each other, and places see almost the same pixels, so that memory is read about
// once. columns_source.cpp replaces LOAD by the number at `from`, STORE by a statement that writes `number` to `to`.
// clang-format off

  constexpr int kOfThread = kOutputs / kWarps;
  __shared__ R tile[kOutputs][kChannels + 1];  // one more, so that a column lies in different banks
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int c0 = int(blockIdx.x % kChannelBlocks) * kChannels;
  const i64 first = i64(blockIdx.x / kChannelBlocks) * kOutputs;
  int top[kOfThread], left[kOfThread];
  i64 image[kOfThread];
#pragma unroll
  for (int i = 0; i < kOfThread; ++i) {
    const i64 output = first + warp + i * kWarps;
    image[i] = output / (kP * kQ) * kH * kW;
    left[i] = int(output % kQ) * kStepX - kBeforeX;
    top[i] = output < kAll ? int(output / kQ % kP) * kStepY - kBeforeY : -(1 << 30);
  }
  for (int place = 0; place < kR * kS; ++place) {
    const int down = place / kS * kDilationY, across = place % kS * kDilationX;
#pragma unroll
    for (int i = 0; i < kOfThread; ++i) {
      const int y = top[i] + down, x = left[i] + across;
      const bool inside = y >= 0 && y < kH && x >= 0 && x < kW && c0 + lane < kC;
      const i64 from = (image[i] + i64(y) * kW + x) * kC + c0 + lane;
      tile[warp + i * kWarps][lane] = inside ? R(LOAD) : R(0);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kChannels / kWarps; ++i) {
      const int c = warp + i * kWarps;
#pragma unroll
      for (int half = 0; half < kOutputs / 32; ++half) {
        const int output = lane + half * 32;
        const i64 to = (i64(place) * kC + c0 + c) * kAll + first + output;
        const R number = tile[output][c];
        if (c0 + c < kC && first + output < kAll) {
STORE        }
      }
    }
    __syncthreads();
  }
