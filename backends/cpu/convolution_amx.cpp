// The gradient of a convolution's filters on AMX, over samples: what is multiplied and added is a pixel of 32 samples,
//   dw[k,r,s,c] = sum over p, q, n of dy[n,p,q,k] * x[n, p * stride - before + r, q * stride - before + s, c].
// oneDNN adds along rows of pixels, which fill a tile in large images only, and has each tap's channels fill one. With
// x as (N/32, H, W, C, 32) the s and c of a filter's row are neighbours, whatever C is, and so are tiles of 16.
#include <omp.h>

#include <algorithm>

#include "backends/cpu/amx.h"
#include "backends/cpu/operand.h"
#include "backends/graph/ops.h"
#include "backends/graph/windows.h"

namespace neon::cpu {

namespace {

// Most bytes of a thread's sums, so that they stay in its cache.
constexpr int64_t kMostSumBytes = 256 << 10;

class AmxWeightGradient : public Kernel {
 public:
  AmxWeightGradient(const LoweredKernel& kernel, Context& context)
      : x_(context, kernel.inputs[0], DType::bf16),
        dy_(context, kernel.inputs[1], DType::bf16),
        dw_(context, kernel.outputs[0], DType::bf16),
        windows_(windows_of(kernel.attributes, {dw_.shape().begin() + 1, dw_.shape().end() - 1})),
        threads_(context.threads) {
    rows_ = std::clamp<int64_t>(kSteps / columns(), 1, lines());
    samples_ = Tensor(DType::bf16, {blocks() * height() * line() + kTile});
    auto* end = static_cast<bf16*>(samples_.data()) + blocks() * height() * line();
    std::fill(end, end + kTile, bf16{});  // the last row's last tile reads beyond it
    maps_ = Tensor(DType::bf16, {threads_, rows_ * columns() * k_tiles() * kTile});
    sums_ = Tensor(DType::f32, {threads_, sums_of_thread()});
  }
  std::string implementation() const override { return "amx"; }

  void run(const Run&) override {
    const auto* x = static_cast<const bf16*>(x_.load(threads_));
    const auto* dy = static_cast<const bf16*>(dy_.load(threads_));
    auto* dw = static_cast<bf16*>(dw_.place());
#pragma omp parallel num_threads(threads_)
    {
#pragma omp for schedule(static)
      for (int64_t i = 0; i < blocks() * height(); ++i) transpose_row(x, i / height(), i % height());
      const int thread = omp_get_thread_num();
      {
        const AmxTiles tiles;
        float* sums = sums_of(thread);
        std::fill(sums, sums + sums_of_thread(), 0.0f);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < blocks() * row_blocks(); ++i)
          add_rows(dy, i / row_blocks(), i % row_blocks() * rows_, thread);
      }
      const int team = omp_get_num_threads();
#pragma omp for schedule(static)
      for (int64_t i = 0; i < filter_rows() * m_tiles() * k_tiles(); ++i) store(i, team, dw);
    }
    dw_.store(threads_);
  }

 private:
  static constexpr int64_t kSteps = 32;  // products between loads of sums, at least, where there are as many pixels

  int64_t samples() const { return x_.shape()[0]; }
  int64_t height() const { return x_.shape()[1]; }
  int64_t width() const { return x_.shape()[2]; }
  int64_t channels() const { return x_.shape()[3]; }
  int64_t lines() const { return dy_.shape()[1]; }
  int64_t columns() const { return dy_.shape()[2]; }
  int64_t maps() const { return dy_.shape()[3]; }
  int64_t filter_rows() const { return dw_.shape()[1]; }
  int64_t filter_row() const { return dw_.shape()[2] * channels(); }  // elements of one
  int64_t blocks() const { return divided_up(samples(), kTileDepth); }
  int64_t row_blocks() const { return divided_up(lines(), rows_); }
  int64_t m_tiles() const { return divided_up(filter_row(), kTileRows); }
  int64_t k_tiles() const { return divided_up(maps(), kTileRows); }
  // The columns of a row of images that filters see, with the padding before and after.
  int64_t padded() const { return (columns() - 1) * windows_.strides[1] + dw_.shape()[2]; }
  int64_t line() const { return padded() * channels() * kTileDepth; }
  int64_t sums_of_thread() const { return filter_rows() * m_tiles() * k_tiles() * kTileSums; }
  float* sums_of(int thread) { return static_cast<float*>(sums_.data()) + thread * sums_of_thread(); }
  int64_t depth(int64_t block) const { return std::min(kTileDepth, samples() - block * kTileDepth); }

  // x (N,H,W,C) -> samples_ (N/32,H,padded,C,32)
  void transpose_row(const bf16* x, int64_t block, int64_t h) {
    bf16* to = static_cast<bf16*>(samples_.data()) + (block * height() + h) * line();
    const int64_t before = std::min(windows_.before[1], padded()), seen = std::min(width(), padded() - before),
                  image = height() * width() * channels();
    bf16* const first = to + before * channels() * kTileDepth;
    bf16* const last = first + seen * channels() * kTileDepth;
    std::fill(to, first, bf16{});
    transpose_for_tiles(x + block * kTileDepth * image + h * width() * channels(), image, depth(block),
                        seen * channels(), first);
    std::fill(last, to + line(), bf16{});
  }

  // Adds what rows_ rows of the outputs of 32 samples give.
  void add_rows(const bf16* dy, int64_t block, int64_t first, int thread) {
    const int64_t rows = std::min(rows_, lines() - first), step = k_tiles() * kTile, image = lines() * columns();
    bf16* const tiles = static_cast<bf16*>(maps_.data()) + thread * rows_ * columns() * step;
    const bf16* from = dy + (block * kTileDepth * image + first * columns()) * maps();
    for (int64_t pixel = 0; pixel < rows * columns(); ++pixel)
      interleave_for_tiles(from + pixel * maps(), image * maps(), depth(block), maps(), tiles + pixel * step);
    for (int64_t r = 0; r < filter_rows(); ++r) {
      const int64_t offset = r * windows_.dilation[0] - windows_.before[0], stride = windows_.strides[0];
      // rows p whose p * stride + offset is in the image
      const int64_t begin = std::max(first, divided_up(std::max<int64_t>(-offset, 0), stride)),
                    end = std::min(first + rows, divided_up(std::max<int64_t>(height() - offset, 0), stride));
      if (begin >= end) continue;
      TileProducts products{};
      products.rows = end - begin;
      products.steps = columns();
      products.a_row = stride * line();
      products.a_step = windows_.strides[1] * channels() * kTileDepth;
      products.b_row = columns() * step;
      products.b_step = step;
      products.m_stride = k_tiles() * kTileSums;
      const bf16* a = static_cast<bf16*>(samples_.data()) + (block * height() + begin * stride + offset) * line();
      const bf16* b = tiles + (begin - first) * products.b_row;
      float* sums = sums_of(thread) + r * m_tiles() * products.m_stride;
      for (int64_t k = 0; k < k_tiles(); k += 2)
        for (int64_t m = 0; m < m_tiles(); m += 2) {
          products.a = a + m * kTile;
          products.b = b + k * kTile;
          products.sums = sums + m * products.m_stride + k * kTileSums;
          accumulate(products, std::min<int64_t>(2, m_tiles() - m), std::min<int64_t>(2, k_tiles() - k));
        }
    }
  }

  // One tile of all threads' sums (R, m_tiles, k_tiles, 16, 16) -> dw (K,R,S*C)
  void store(int64_t tile, int team, bf16* dw) {
    float sum[kTileSums] = {};
    for (int thread = 0; thread < team; ++thread) {
      const float* from = sums_of(thread) + tile * kTileSums;
      for (int64_t i = 0; i < kTileSums; ++i) sum[i] += from[i];
    }
    const int64_t k = tile % k_tiles() * kTileRows, m = tile / k_tiles() % m_tiles() * kTileRows,
                  r = tile / k_tiles() / m_tiles(), m_end = std::min(kTileRows, filter_row() - m),
                  k_end = std::min(kTileRows, maps() - k);
    for (int64_t j = 0; j < k_end; ++j)
      for (int64_t i = 0; i < m_end; ++i)
        dw[((k + j) * filter_rows() + r) * filter_row() + m + i] = to_bf16(sum[i * kTileRows + j]);
  }

  Operand x_, dy_, dw_;
  Windows windows_;
  int threads_;
  int64_t rows_;    // of outputs that are taken together
  Tensor samples_;  // x by samples
  Tensor maps_;     // of a thread: dy of `rows_` rows, as tiles
  Tensor sums_;     // of a thread
};

std::unique_ptr<Kernel> make_weight_gradient(const LoweredKernel& kernel, Context& context) {
  const TensorType &x = context.type(kernel.inputs[0]), &dw = context.type(kernel.outputs[0]);
  if (dw.dtype != DType::bf16 || dw.shape.rank() != 4 || dw.shape.elements() == 0 || x.shape.elements() == 0) return {};
  if (context.type(kernel.inputs[1]).shape.elements() == 0) return {};
  const bool neighbours = kernel.attributes.integers("dilation")[1] == 1 && kernel.attributes.integer("groups") == 1;
  if (!neighbours || x.shape[0] < kTileDepth || !has_amx()) return {};
  if (4 * dw.shape.elements() > kMostSumBytes) return {};
  return std::make_unique<AmxWeightGradient>(kernel, context);
}

const KernelRegistration convolution_amx_kernel(ops::convolution_weight_gradient, -1, make_weight_gradient);

}  // namespace

}  // namespace neon::cpu
