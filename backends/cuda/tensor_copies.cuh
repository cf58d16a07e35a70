// Boxes of arrays that come to shared memory by themselves, barriers that count them, and matrices of them for the
// tensor cores of compute capability 9.0 (PTX ISA, "cp.async.bulk.tensor", "mbarrier", "Matrix Descriptor").
struct alignas(64) TensorMap {
  char bytes[128];
};
__device__ __forceinline__ u32 shared_place(const void* p) { return u32(__cvta_generic_to_shared(p)); }
__device__ __forceinline__ void* shared_address(u32 place) { return __cvta_shared_to_generic(place); }

// Barriers of shared memory. A wait is for the end of the phase whose parity is given.
__device__ __forceinline__ void start_barrier(u32 at, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void arrive(u32 at) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory");
}
__device__ __forceinline__ void expect(u32 at, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
}
__device__ __forceinline__ void wait(u32 at, u32 parity) {
  asm volatile(
      "{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra again;\n}" ::"r"(at),
      "r"(parity)
      : "memory");
}

// Copies a box of an array to shared memory, which the barrier counts.
__device__ __forceinline__ void fetch(u32 to, const TensorMap& map, int channel, int column, int row, int image,
                                      u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(channel), "r"(column), "r"(row), "r"(image)
      : "memory");
}
__device__ __forceinline__ void fetch(u32 to, const TensorMap& map, int channel, int place, int filter, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
      "[%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(channel), "r"(place), "r"(filter)
      : "memory");
}
__device__ __forceinline__ void store(const TensorMap& map, u32 from, int map_number, int column, int row, int image) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];\n"
      "cp.async.bulk.commit_group;" ::"l"(&map),
      "r"(from), "r"(map_number), "r"(column), "r"(row), "r"(image)
      : "memory");
}

// A matrix whose rows have so many bytes, 32, 64 or 128, permuted, `apart` bytes from each 8 rows to the next; of one
// with its rows last, `across` bytes from each such width to the next. For 16 it consists of blocks of 8 by 8: `apart`
// bytes from each 8 of the result's rows or columns to the next, and `across` from each 8 of the depth.
template <int kBytes>
__device__ __forceinline__ u64 matrix_at(u32 place, u32 apart, u32 across = 16) {
  constexpr u64 kPermuted = kBytes == 128 ? 1 : kBytes == 64 ? 2 : kBytes == 32 ? 3 : 0;
  return u64((place & 0x3FFFF) >> 4) | (u64(across >> 4) << 16) | (u64(apart >> 4) << 32) | (kPermuted << 62);
}

// The place of a ring of kCount that comes next.
template <int kCount>
struct Ring {
  int at = 0;
  u32 phase = 0;
  __device__ void next() {
    if (++at == kCount) at = 0, phase ^= 1;
  }
};
