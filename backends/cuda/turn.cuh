// Filters w (maps, places, channels) turned around: (channels, places, maps), with the places in reverse. A block takes
// a square of maps by channels of one place, by way of shared memory: neighbouring threads read neighbouring channels
// and write neighbouring maps. Blocks that follow each other read what follows in memory.
extern "C" __global__ void __launch_bounds__(kThreads)
    kernel(const float* __restrict__ w, float* __restrict__ turned, int maps, int places, int channels) {
  constexpr int kRows = kThreads / kSquare;
  __shared__ float square[kSquare][kSquare + 1];  // one more, so that a column lies in different banks
  const int across = (channels - 1) / kSquare + 1, lane = int(threadIdx.x) % kSquare, row = int(threadIdx.x) / kSquare;
  const int c0 = int(blockIdx.x) % across * kSquare, place = int(blockIdx.x) / across % places,
            k0 = int(blockIdx.x) / across / places * kSquare;
  for (int i = row; i < kSquare; i += kRows)
    if (k0 + i < maps && c0 + lane < channels)
      square[i][lane] = w[((long long)(k0 + i) * places + place) * channels + c0 + lane];
  __syncthreads();
  for (int i = row; i < kSquare; i += kRows)
    if (c0 + i < channels && k0 + lane < maps)
      turned[((long long)(c0 + i) * places + (places - 1 - place)) * maps + k0 + lane] = square[lane][i];
}
