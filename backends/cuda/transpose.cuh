// The bodies of transpose: neighbours in the input come to shared memory and leave as neighbours of the output.
// transpose_source.cpp writes the constants and replaces READ by a statement that reads kIn neighbours from `from` on
// to x, WRITE by one that writes x as kOut neighbours from `to` on; OUTER_FROM and OUTER_TO by where block `outer`
// begins, PLACE by where number `at` of an output's matrix lies in the input's.
// clang-format off

//: matrices
  // kMatrices matrices that follow each other, whose numbers stay together.
  constexpr int kAround = 32;  // numbers after which one place is left free, so that packs lie in different banks
  __shared__ R numbers[kMatrices * kVolume * (kAround + 1) / kAround + 1];
  const i64 first = i64(blockIdx.x) * (kMatrices * kVolume);
  const int count = int(min(i64(kMatrices * kVolume), kAll - first));
  for (int i = threadIdx.x * kIn; i < count; i += kThreads * kIn) {
    const i64 from = first + i;
    R x[kIn];
    READ
#pragma unroll
    for (int j = 0; j < kIn; ++j) numbers[i + j + (i + j) / kAround] = x[j];
  }
  __syncthreads();
  for (int i = threadIdx.x * kOut; i < count; i += kThreads * kOut) {
    const i64 to = first + i;
    R x[kOut];
#pragma unroll
    for (int j = 0; j < kOut; ++j) {
      const u32 at = u32(i + j) % kVolume, place = u32(i + j) - at + u32(PLACE);
      x[j] = numbers[place + place / kAround];
    }
    WRITE
  }
//: tile
  // A tile of kA numbers along the input's last axis by kB along the output's.
  __shared__ R tile[kB][kA + 1];  // one more, so that a column lies in different banks
  const u32 block = blockIdx.x;
  const int a0 = int(block % kTilesA) * kA, b0 = int(block / kTilesA % kTilesB) * kB;
  const u32 outer = block / (kTilesA * kTilesB);
  (void)outer;
  for (int t = threadIdx.x; t < kA / kIn * kB; t += kThreads) {
    const int a = t % (kA / kIn) * kIn, b = t / (kA / kIn);
    if (a0 + a >= kAllA || b0 + b >= kAllB) continue;
    const i64 from = OUTER_FROM + a0 + a + (b0 + b) * kFromB;
    R x[kIn];
    READ
#pragma unroll
    for (int j = 0; j < kIn; ++j) tile[b][a + j] = x[j];
  }
  __syncthreads();
  for (int t = threadIdx.x; t < kB / kOut * kA; t += kThreads) {
    const int b = t % (kB / kOut) * kOut, a = t / (kB / kOut);
    if (a0 + a >= kAllA || b0 + b >= kAllB) continue;
    const i64 to = OUTER_TO + b0 + b + (a0 + a) * kToA;
    R x[kOut];
#pragma unroll
    for (int j = 0; j < kOut; ++j) x[j] = tile[b + j][a];
    WRITE
  }
