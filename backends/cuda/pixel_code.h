// Source of code that works pixel by pixel within a kernel of an op: by which its image (N,H,W,C) is computed as it is
// read, or by which what it makes is folded.
#pragma once
#include <functional>
#include <set>

#include "backends/cuda/code_text.h"

namespace neon::cuda {

class PixelCode {
 public:
  // The arrays of which `code` reads the number at each place, where it reads nothing else but numbers of the place's
  // channel and single ones; none of other code.
  static std::set<Value> arrays_of(const FusedKernel& code);
  // What `code` reads for each channel.
  static std::set<Value> channels_of(const FusedKernel& code);

  // `code` has such arrays. `name` begins the names of what is read once.
  PixelCode(const FusedKernel& code, CodeText& text, const char* name);

  // Text that reads, once for a thread with channels c and following, what there is for each channel.
  std::string once(int width) const;
  // Text that computes number j of a thread's channels, register n as rN. `array` names the numbers of an array.
  std::string each(const std::function<std::string(Value)>& array) const;

 private:
  const Segment& segment_;
  CodeText& text_;
  const std::string name_;
};

}  // namespace neon::cuda
