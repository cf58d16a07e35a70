// A shape: sizes of up to eight axes, last axis fastest. Letters used throughout: N batch, C channels
// (features), H, W, D space, T time; K, P, Q of an output; R, S of a filter.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace neon {

class Shape {
 public:
  static constexpr int kMaxRank = 8;
  static constexpr int64_t kMostElements = int64_t(1) << 59;  // whose bytes can be counted in every type

  Shape() = default;  // a scalar
  Shape(std::initializer_list<int64_t> sizes) : Shape(std::span<const int64_t>(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const int64_t> sizes);  // throws on rank over 8, negative size, or 2^59 elements

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return sizes_[size_t(axis)]; }
  int64_t back() const { return sizes_[size_t(rank_ - 1)]; }
  int64_t elements() const;
  std::span<const int64_t> sizes() const { return {sizes_.data(), size_t(rank_)}; }
  auto begin() const { return sizes().begin(); }
  auto end() const { return sizes().end(); }
  bool operator==(const Shape& other) const;
  std::string to_string() const;  // "(128, 784)"

  Shape with(int axis, int64_t size) const;  // the same with one size replaced
  Shape slice(int first, int last) const;    // axes first .. last - 1
  Shape concat(const Shape& tail) const;     // all axes of this, then of tail

 private:
  std::array<int64_t, kMaxRank> sizes_{};
  int rank_ = 0;
};

// Result of broadcasting by NumPy's rule: aligned at the last axis, sizes equal or 1. Throws a config
// error that shows both shapes.
Shape broadcast(const Shape& a, const Shape& b);

}  // namespace neon
