// Extents and bins of regions, as in backends/graph/regions.h. A product is rounded by itself, or halves would go
// another way than on the CPU.
// clang-format off

struct Extent { i64 first, size; };
struct Bin { int begin, end; };
__device__ __forceinline__ float times(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double times(double a, double b) { return __dmul_rn(a, b); }
template <typename R>
__device__ __forceinline__ i64 pixel(R coordinate, R scale) {
  R at = times(coordinate, scale);
  at = at < R(-kFarthestPixel) ? R(-kFarthestPixel) : at > R(kFarthestPixel) ? R(kFarthestPixel) : at;
  const i64 whole = i64(at);
  const R rest = at - R(whole);
  return whole + (rest >= R(0.5)) - (rest <= R(-0.5));
}
template <typename R>
__device__ __forceinline__ Extent extent_of(R first, R last, R scale, R missing) {
  if (missing != missing) return Extent{kFarthestPixel, 1};
  const i64 begin = pixel(first, scale), size = pixel(last, scale) - begin + 1;
  return Extent{begin, size > 1 ? size : 1};
}
__device__ __forceinline__ Bin bin_of(const Extent& extent, i64 index, i64 count, i64 length) {
  const i64 begin = extent.first + index * extent.size / count;
  const i64 end = extent.first + ((index + 1) * extent.size + count - 1) / count;
  return Bin{int(begin < 0 ? 0 : begin < length ? begin : length), int(end < 0 ? 0 : end < length ? end : length)};
}
