// The sum of slices of f32 that blocks of another kernel wrote. The host writes T before this text.
//
// A thread adds up every shares-th slice of four numbers; then a thread adds up what the shares have, in order.
extern "C" __global__ void __launch_bounds__(kThreads)
    add_slices(const float4* __restrict__ slices, T* __restrict__ filters, int count, int of_slices, int shares) {
  __shared__ float4 of_shares[kThreads];
  const auto add = [](float4& to, const float4& next) {
    to.x += next.x, to.y += next.y, to.z += next.z, to.w += next.w;
  };
  const int fours = kThreads / shares, share = threadIdx.x / fours;
  const int i = blockIdx.x * fours + threadIdx.x % fours;
  float4 sum = {};
  if (i < count)
#pragma unroll 4
    for (int slice = share; slice < of_slices; slice += shares) add(sum, slices[i64(slice) * count + i]);
  of_shares[threadIdx.x] = sum;
  __syncthreads();
  if (share > 0 || i >= count) return;
  for (int other = 1; other < shares; ++other) add(sum, of_shares[other * fours + threadIdx.x]);
  Pack<T, 4> out;
  out.at[0] = Stored<T>::from(sum.x), out.at[1] = Stored<T>::from(sum.y);
  out.at[2] = Stored<T>::from(sum.z), out.at[3] = Stored<T>::from(sum.w);
  reinterpret_cast<Pack<T, 4>*>(filters)[i] = out;
}
