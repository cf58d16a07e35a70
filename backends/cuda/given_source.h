// Source of how a kernel reads images (N,H,W,C) that may be computed as they are read, see take_prologues().
#pragma once
#include "backends/cuda/code_text.h"

namespace neon::cuda {

class GivenSource {
 public:
  // Reads inputs[0], or the result of the prologue on the inputs; `compute` is the kernel's R. Where a thread's numbers
  // are always of the same channels, `channel` names the first of them.
  GivenSource(const LoweredKernel& kernel, CodeText& code, DType compute, const std::string& channel = "");

  const Shape& shape() const { return images_.domain; }
  // Numbers of a row (W,C) that may be read at once, from a multiple of it on; it divides the row.
  int width() const { return width_; }
  // Declares given(y, first, out), which puts numbers `first` and following of row y of image `image` into
  // R out[width]; if `guarded`, given(y, first, inside, out), which reads nothing where not inside. It then has no
  // branch, so that many reads may be under way at once.
  std::string run(int width, bool guarded = false);

 private:
  std::string coordinate(int axis) const;
  bool is_pack(const Instruction& load, int width) const;
  bool is_of_channel(const Instruction& load) const;
  std::string place(const Instruction& load, size_t reg) const;

  Segment images_;
  CodeText& code_;
  const std::string channel_;
  int width_ = 1;
};

}  // namespace neon::cuda
