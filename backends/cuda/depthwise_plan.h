// How a depthwise convolution, or a gradient of one, spreads over threads.
#pragma once
#include "backends/cuda/code_text.h"
#include "backends/graph/windows.h"

namespace neon::cuda {

// The image of a convolution, also where it is computed as it is read, the filters and the results, or their gradients.
struct DepthwiseArrays {
  Value x, w, y;
};

struct DepthwiseShapes {
  const Shape &x, &w, &y;
};

// The channels and columns of a thread, and how far ahead it reads.
class DepthwisePlan {
 public:
  DepthwisePlan(const LoweredKernel& kernel, SourceContext& context);

 protected:
  int64_t images() const { return shapes_.x[0]; }
  int64_t packs() const { return shapes_.x.back() / width_; }
  int64_t places() const { return windows_.size[0] * windows_.size[1]; }
  // The sums that blocks add up: of each place of the filter, and folds of the image's gradient.
  int64_t sums() const;
  int64_t numbers() const { return sums() * width_; }

  bool to_image() const { return kernel_.convolution() == ConvolutionKind::by_input; }
  bool both() const { return kernel_.takes(Attachment::Kind::filters); }
  // Rows of results that see the same row of the image.
  int64_t open_rows() const { return quotient_up(windows_.size[0], windows_.strides[0]); }

  int64_t pack_bytes(int64_t width) const { return width * int64_t(size_of(code_.type(arrays_.y).dtype)); }

  // As many neighbouring channels and columns as registers hold.
  void choose_width_and_strip();
  // How many groups of rows a thread asks for before it takes them: several where shared memory has room for them. The
  // gradient of the filter multiplies more than it reads, and gains nothing.
  void choose_ahead(int arch);
  // The rows of a thread: as many as make the turns of those that run at the same time shortest, where each turn begins
  // with filters and with rows that other threads read, too. `at_once`: shares of strips that run at the same time.
  void choose_rows(int64_t rows, int64_t strips, int64_t at_once);
  int64_t threads_at_once() const { return kThreads * kBlocksOfProcessor * processors_; }

  // Rows and columns of the image's gradient are counted from the first at or before 0 that is the first of a
  // window's.
  int64_t above() const { return windows_.before[0] % windows_.strides[0]; }
  int64_t beside() const { return windows_.before[1] % windows_.strides[1]; }
  int64_t groups() const { return quotient_up(shapes_.x[1] + above(), windows_.strides[0]); }
  int64_t first_group() const { return windows_.before[0] / windows_.strides[0]; }
  int64_t strips_of_image() const { return quotient_up(shapes_.x[2] + beside(), strip_); }
  std::string row_of_image() const { return text("p * ", windows_.strides[0], " - ", windows_.before[0], " + v"); }
  std::string column_of_image() const { return text("strip * ", strip_, " - ", beside()); }

  const LoweredKernel& kernel_;
  const DepthwiseArrays arrays_;
  const DepthwiseShapes shapes_;
  const Windows windows_;
  CodeText code_;
  const int64_t processors_;
  int width_ = 1, tickets_ = 1;
  int64_t ahead_ = 1, room_bytes_ = 0, strip_ = 1, strips_ = 1, rows_ = 1, shares_ = 1, blocks_ = 1;
  size_t partial_bytes_ = 0;
};

}  // namespace neon::cuda
