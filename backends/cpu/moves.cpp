// transpose, slice and concat: elements of any type moved as they are.
#include <omp.h>

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernel.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

constexpr int64_t kSide = 16;       // of the squares in which a matrix is turned
constexpr int64_t kShortRow = 256;  // bytes; of shorter rows a thread takes several at once

std::vector<int64_t> dense_strides(const Shape& shape) {
  std::vector<int64_t> out(size_t(shape.rank()), 1);
  for (int axis = shape.rank() - 2; axis >= 0; --axis) out[size_t(axis)] = out[size_t(axis + 1)] * shape[axis + 1];
  return out;
}

struct Axis {
  int64_t size, stride;  // stride in elements of the array that is read
};

// Fewer axes with the same walk: those of size 1 are left out, and those that follow one another are one. At least one.
std::vector<Axis> merged(const std::vector<Axis>& axes) {
  std::vector<Axis> out;
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;
    if (!out.empty() && out.back().stride == axis.stride * axis.size)
      out.back() = {out.back().size * axis.size, axis.stride};
    else out.push_back(axis);
  }
  if (out.empty()) out.push_back({1, 1});
  return out;
}

// Writes a dense array, whose last axis is `columns` long, from one that is walked by strides.
class StridedCopy {
 public:
  StridedCopy(const std::vector<Axis>& axes, int64_t size, int threads) : axes_(merged(axes)), size_(size) {
    columns_ = axes_.back().size;
    for (size_t i = 0; i + 1 < axes_.size(); ++i) rows_ *= axes_[i].size;
    // Where the last axis is not read densely but the one before it is, squares of both are turned at once.
    turns_ = axes_.size() > 1 && axes_.back().stride != 1 && axes_[axes_.size() - 2].stride == 1;
    threads_ = team_of(rows_ * columns_ * size / kBytesOfOneThread, threads);
  }

  void run(const std::byte* from, std::byte* to) const {
    const int64_t step = turns_ || columns_ * size_ < kShortRow ? kSide : 1, parts = (rows_ + step - 1) / step;
#pragma omp parallel for num_threads(threads_) schedule(static) if (threads_ > 1)
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t first = part * step, last = std::min(rows_, first + step);
      switch (size_) {
        case 1: rows<uint8_t>(from, to, first, last); break;
        case 2: rows<uint16_t>(from, to, first, last); break;
        case 4: rows<uint32_t>(from, to, first, last); break;
        default: rows<uint64_t>(from, to, first, last);
      }
    }
  }

 private:
  // Where a row begins in the array that is read.
  int64_t offset(int64_t row) const {
    int64_t out = 0;
    for (size_t i = axes_.size() - 1; i-- > 0; row /= axes_[i].size) out += row % axes_[i].size * axes_[i].stride;
    return out;
  }

  // The starts of rows first .. last - 1. Divisions for each row would take longer than the copy of a short one.
  void find_starts(int64_t first, int64_t last, int64_t* starts) const {
    const Axis inner = axes_.size() > 1 ? axes_[axes_.size() - 2] : Axis{1, 0};
    int64_t place = first % inner.size;
    starts[0] = offset(first);
    for (int64_t row = first + 1; row < last; ++row) {
      const bool follows = ++place < inner.size;
      if (!follows) place = 0;
      starts[row - first] = follows ? starts[row - first - 1] + inner.stride : offset(row);
    }
  }

  template <typename T>
  void rows(const std::byte* from, std::byte* to, int64_t first, int64_t last) const {
    const T* x = reinterpret_cast<const T*>(from);
    T* y = reinterpret_cast<T*>(to);
    const int64_t stride = axes_.back().stride;
    int64_t starts[kSide];
    find_starts(first, last, starts);
    if (stride == 1) {
      for (int64_t row = first; row < last; ++row)
        std::memcpy(y + row * columns_, x + starts[row - first], size_t(columns_) * sizeof(T));
      return;
    }
    for (int64_t c0 = 0; c0 < columns_; c0 += kSide)
      for (int64_t row = first; row < last; ++row)
        for (int64_t c = c0; c < std::min(columns_, c0 + kSide); ++c)
          y[row * columns_ + c] = x[starts[row - first] + c * stride];
  }

  std::vector<Axis> axes_;
  int64_t size_, rows_ = 1, columns_ = 1;
  bool turns_ = false;
  int threads_ = 1;
};

class Move : public Kernel {
 public:
  Move(const LoweredKernel& kernel, Context& context)
      : from_(context.slot(kernel.inputs[0])), to_(context.slot(kernel.outputs[0])), copy_(plan(kernel, context)) {
    const TensorType& x = context.type(kernel.inputs[0]);
    if (kernel.is(ops::slice))
      first_ = kernel.attributes.integer("first") * dense_strides(x.shape)[size_t(kernel.attributes.integer("axis"))] *
               int64_t(size_of(x.dtype));
  }
  void run(const Run&) override {
    copy_.run(static_cast<const std::byte*>(*from_) + first_, static_cast<std::byte*>(*to_));
  }
  std::string implementation() const override { return "copy"; }

 private:
  static StridedCopy plan(const LoweredKernel& kernel, Context& context) {
    const TensorType &x = context.type(kernel.inputs[0]), &y = context.type(kernel.outputs[0]);
    const auto strides = dense_strides(x.shape);
    std::vector<Axis> axes;
    for (int axis = 0; axis < y.shape.rank(); ++axis) {
      const int64_t source = kernel.is(ops::transpose) ? kernel.attributes.integers("permutation")[size_t(axis)] : axis;
      axes.push_back({y.shape[axis], strides[size_t(source)]});
    }
    return {axes, int64_t(size_of(y.dtype)), context.threads};
  }

  void **from_, **to_;
  StridedCopy copy_;
  int64_t first_ = 0;  // bytes
};

// The inputs' runs by turns; a run is all that follows the axis.
class Concat : public Kernel {
 public:
  Concat(const LoweredKernel& kernel, Context& context) : to_(context.slot(kernel.outputs[0])) {
    const int axis = int(kernel.attributes.integer("axis"));
    const Shape& shape = context.type(kernel.outputs[0]).shape;
    outer_ = shape.slice(0, axis).elements();
    for (Value input : kernel.inputs) {
      const TensorType& x = context.type(input);
      const int64_t bytes = x.shape.slice(axis, x.shape.rank()).elements() * int64_t(size_of(x.dtype));
      if (bytes == 0) continue;
      parts_.push_back({context.slot(input), bytes});
      width_ += bytes;
    }
    threads_ = team_of(std::min(outer_, outer_ * width_ / kBytesOfOneThread), context.threads);
  }
  void run(const Run&) override {
#pragma omp parallel for num_threads(threads_) schedule(static) if (threads_ > 1)
    for (int64_t row = 0; row < outer_; ++row) {
      std::byte* to = static_cast<std::byte*>(*to_) + row * width_;
      for (const Part& part : parts_) {
        std::memcpy(to, static_cast<const std::byte*>(*part.slot) + row * part.bytes, size_t(part.bytes));
        to += part.bytes;
      }
    }
  }
  std::string implementation() const override { return "copy"; }

 private:
  struct Part {
    void** slot;
    int64_t bytes;  // of a run
  };
  void** to_;
  std::vector<Part> parts_;
  int64_t outer_ = 1, width_ = 0;
  int threads_ = 1;
};

template <typename K>
std::unique_ptr<Kernel> make_move(const LoweredKernel& kernel, Context& context) {
  if (context.type(kernel.outputs[0]).shape.elements() == 0) return nullptr;
  return std::make_unique<K>(kernel, context);
}

const KernelRegistration moves_kernels[] = {
    {ops::transpose, 0, make_move<Move>},
    {ops::slice, 0, make_move<Move>},
    {ops::concat, 0, make_move<Concat>},
};

}  // namespace

}  // namespace neon::cpu
