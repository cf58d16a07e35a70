// Counter-based random numbers: Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011). A stream is keyed by seed and name; an element's number depends on nothing but
// (seed, stream, step, element), so neither fusing, threads nor resuming changes it.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace neon {

using Philox4 = std::array<uint32_t, 4>;

inline Philox4 philox(Philox4 counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t(0xD2511F53u) * counter[0];
    const uint64_t p1 = uint64_t(0xCD9E8D57u) * counter[2];
    counter = {uint32_t(p1 >> 32) ^ counter[1] ^ key[0], uint32_t(p1), uint32_t(p0 >> 32) ^ counter[3] ^ key[1],
               uint32_t(p0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

// FNV-1a, 64 bits: the same everywhere.
constexpr uint64_t hash_name(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (char c : name) hash = (hash ^ uint8_t(c)) * 0x100000001b3ull;
  return hash;
}

// [0, 1) with 24 bits, exact in f32.
inline float uniform_from_bits(uint32_t bits) { return float(bits >> 8) * 0x1p-24f; }

// A sequential reader of one stream, for the host: initial values, shuffles, drawing data.
class Stream {
 public:
  Stream(uint64_t seed, std::string_view name, uint64_t step = 0)
      : key_{uint32_t(seed), uint32_t(seed >> 32)}, id_(hash_name(name)), step_(step) {}

  uint32_t bits() {
    if (used_ == 4) refill();
    return block_[size_t(used_++)];
  }
  double uniform() {  // [0, 1) with 53 bits
    const uint64_t high = bits() >> 5, low = bits() >> 6;
    return (double(high) * 67108864.0 + double(low)) * 0x1p-53;
  }
  double normal();  // mean 0, deviation 1; Box and Muller (1958)
  // A fresh stream whose next number is this one's after `count` numbers of uniform() or normal(), an even number: each
  // pair takes one block of bits.
  Stream after(int64_t count) const {
    Stream out = *this;
    out.index_ += uint64_t(count) / 2;
    return out;
  }
  uint32_t below(uint32_t bound);  // uniform integer in [0, bound), without bias (Lemire 2019)

 private:
  void refill() {
    block_ = philox({uint32_t(index_), uint32_t(index_ >> 32) ^ uint32_t(step_ >> 32), uint32_t(id_) ^ uint32_t(step_),
                     uint32_t(id_ >> 32)},
                    key_);
    ++index_;
    used_ = 0;
  }
  std::array<uint32_t, 2> key_;
  uint64_t id_, step_, index_ = 0;
  Philox4 block_{};
  int used_ = 4;
  bool has_spare_ = false;
  double spare_ = 0;
};

}  // namespace neon
