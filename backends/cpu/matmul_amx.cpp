// Products of two matrices on AMX, c (M,N) = a (M,K) b (K,N): in bf16, and in f32 by three terms of bf16 for each
// number (amx_tiles.h). Threads make tiles of b together, all of it or some of the depth at a time, and each those of
// its own rows of a. Some rows of these tiles stay in a thread's cache while they meet all columns.
#include <omp.h>

#include <algorithm>
#include <atomic>

#include "backends/cpu/amx_tiles.h"
#include "backends/cpu/onednn_part.h"
#include "backends/cpu/operand.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

constexpr int64_t kPair = 2 * kTileRows;  // rows or columns that are multiplied at once

// How a product is cut: `deep`, all columns stay for some of the depth after another, and sums of the whole result wait
// in memory. Otherwise all of the depth is there, and sums wait for a block of rows.
struct AmxCuts {
  AmxCuts(const Shape& c, int64_t depth, int64_t terms, int threads)
      : rows(c[0]),
        columns(c[1]),
        depth(depth),
        row_pairs(divided_up(rows, kPair)),
        column_pairs(divided_up(columns, kPair)),
        piece(std::min(divided_up(depth, kTileDepth) * kTileDepth, terms == 1 ? kPieceOfOne : kPieceOfThree)),
        pieces(divided_up(depth, piece)),
        deep(pieces > 1 && column_pairs * kPair * depth * terms * int64_t(sizeof(bf16)) > kMostRight),
        parts(std::min(divided_up(kTasksOfThread * threads, row_pairs), column_pairs)) {
    const int64_t of_pair = kPair * (piece * terms * int64_t(sizeof(bf16)) +
                                     (deep || pieces == 1 ? 0 : column_pairs * kPair * int64_t(sizeof(float))));
    block_pairs = std::clamp<int64_t>(kMostLeft / of_pair, 1, kMostPairs);
  }
  static constexpr int64_t kPieceOfOne = 1024, kPieceOfThree = 512;
  static constexpr int64_t kMostRight = 16 << 20, kMostLeft = 1 << 20;  // bytes of tiles
  static constexpr int64_t kTasksOfThread = 4, kMostPairs = 8;

  int64_t rows, columns, depth, row_pairs, column_pairs;
  int64_t piece, pieces;  // of the depth
  bool deep;
  int64_t parts;        // of the columns
  int64_t block_pairs;  // of rows whose tiles of a piece stay in a thread's cache
  int64_t length(int64_t p) const { return std::min(piece, depth - p * piece); }
  int64_t steps(int64_t p) const { return divided_up(length(p), kTileDepth); }
};

template <typename T>
class AmxMatmul : public Kernel {
 public:
  AmxMatmul(const LoweredKernel& kernel, Context& context, std::unique_ptr<Kernel> otherwise)
      : otherwise_(std::move(otherwise)),
        a_(context, kernel.inputs[0], dtype_of<T>()),
        b_(context, kernel.inputs[1], dtype_of<T>()),
        c_(context, kernel.outputs[0], dtype_of<T>()),
        a_turned_(kernel.attributes.integer("transpose_a") != 0),
        b_turned_(kernel.attributes.integer("transpose_b") != 0),
        relu_(kernel.relu()),
        threads_(context.threads),
        cuts_(c_.shape(), a_.shape()[a_turned_ ? 0 : 1], kTerms<T>, threads_),
        scratch_(context.scratch),
        left_at_(scratch_.take(size_t(threads_ * left_size()) * sizeof(bf16))),
        right_at_(scratch_.take(size_t((cuts_.deep ? 2 : cuts_.pieces) * right_size()) * sizeof(bf16))),
        sums_(scratch_.take(size_t(cuts_.deep ? cuts_.row_pairs * row_of_sums() : threads_ * own_sums()) *
                            sizeof(float))) {
    if (kernel.bias()) bias_.emplace(context, kernel.bias(), DType::f32);
  }
  std::string implementation() const override { return kTerms<T> == 1 ? "amx" : "amx:3"; }

  void run(const Run& run) override {
    left_ = {static_cast<const T*>(a_.load(threads_)), cuts_.rows, a_turned_, false};
    right_ = {static_cast<const T*>(b_.load(threads_)), cuts_.columns, !b_turned_, true};
    bias_at_ = bias_ ? static_cast<const float*>(bias_->load(threads_)) : nullptr;
    told_ = true;
#pragma omp parallel num_threads(threads_)
    {
      const AmxTiles tiles;
      if (cuts_.deep)
        for (int64_t p = 0; p < cuts_.pieces; ++p) {
          make_right(p, p % 2);  // others may still read the tiles of the piece before
          each_block([&](const Block& block) { multiply(block, p, p % 2); });
        }
      else {
        for (int64_t p = 0; p < cuts_.pieces; ++p) make_right(p, p);
        each_block([&](const Block& block) {
          for (int64_t p = 0; p < cuts_.pieces; ++p) multiply(block, p, p);
        });
      }
    }
    c_.store(threads_);
    if (!told_) otherwise_->run(run);
  }

 private:
  // Some pairs of rows by some of columns, of one thread.
  struct Block {
    int64_t first_row, last_row, first_column, last_column;
  };
  // a by rows, or b by columns; `across`, one of them lies along a column of memory.
  struct Factor {
    const T* from;
    int64_t count;
    bool across, right;
  };
  static constexpr int64_t kGroup = 4;                      // pairs of columns whose tiles a thread makes in turn
  static constexpr int64_t kTiles = 2 * kTile * kTerms<T>;  // elements of a step's, for a pair of rows or columns

  int64_t row_of_sums() const { return cuts_.column_pairs * kPair * kPair; }  // of a pair of rows, by pairs of columns
  int64_t left_size() const { return cuts_.block_pairs * cuts_.piece / kTileDepth * kTiles; }
  int64_t right_size() const { return cuts_.column_pairs * cuts_.piece / kTileDepth * kTiles; }
  int64_t own_sums() const { return cuts_.pieces > 1 ? cuts_.block_pairs * row_of_sums() : kPair * kPair; }
  bf16* left_of(int64_t pair) {
    return scratch_.at<bf16>(left_at_) + omp_get_thread_num() * left_size() + pair * cuts_.piece / kTileDepth * kTiles;
  }
  bf16* right_of(int64_t place, int64_t pair) {
    return scratch_.at<bf16>(right_at_) + place * right_size() + pair * cuts_.piece / kTileDepth * kTiles;
  }

  template <typename Visit>
  void each_block(Visit&& visit) const {
    const int64_t tasks = cuts_.row_pairs * cuts_.parts, thread = omp_get_thread_num(), team = omp_get_num_threads(),
                  end = tasks * (thread + 1) / team;
    for (int64_t task = tasks * thread / team; task < end;) {
      const int64_t part = task / cuts_.row_pairs, row = task % cuts_.row_pairs,
                    rows = std::min({cuts_.block_pairs, cuts_.row_pairs - row, end - task});
      visit(Block{row, row + rows, cuts_.column_pairs * part / cuts_.parts,
                  cuts_.column_pairs * (part + 1) / cuts_.parts});
      task += rows;
    }
  }

  void make_right(int64_t p, int64_t place) {
    bool told = true;
    const int64_t steps = cuts_.steps(p), groups = divided_up(cuts_.column_pairs, kGroup);
#pragma omp for schedule(static)
    for (int64_t task = 0; task < groups * steps; ++task) {
      // Neighbours in memory come one after the other.
      const int64_t step = b_turned_ ? task % steps : task / groups, group = b_turned_ ? task / steps : task % groups;
      for (int64_t pair = group * kGroup; pair < std::min((group + 1) * kGroup, cuts_.column_pairs); ++pair)
        told &= make_tiles(right_, p, step, pair, right_of(place, pair));
    }
    if (!told) told_ = false;
  }
  void make_left(const Block& block, int64_t p) {
    bool told = true;
    for (int64_t step = 0; step < cuts_.steps(p); ++step)
      for (int64_t pair = block.first_row; pair < block.last_row; ++pair)
        told &= make_tiles(left_, p, step, pair, left_of(pair - block.first_row));
    if (!told) told_ = false;
  }
  // The tiles of a step of a piece, of a pair of rows or columns.
  bool make_tiles(const Factor& factor, int64_t p, int64_t step, int64_t pair, bf16* to) const {
    const int64_t at = p * cuts_.piece + step * kTileDepth, depth = std::min(kTileDepth, cuts_.depth - at);
    bool told = true;
    to += step * kTiles;
    for (int64_t first = pair * kPair; first < std::min((pair + 1) * kPair, factor.count);
         first += kTileRows, to += kTile) {
      const int64_t count = std::min(kTileRows, factor.count - first);
      told &= factor.across
                  ? tile_of_columns(TilePart<T>{factor.from + at * factor.count + first, factor.count, depth, count},
                                    !factor.right, to, 2 * kTile, kTerms<T>)
                  : tile_of_rows(TilePart<T>{factor.from + first * cuts_.depth + at, cuts_.depth, count, depth},
                                 factor.right, to, 2 * kTile, kTerms<T>);
    }
    return told;
  }

  void multiply(const Block& block, int64_t p, int64_t place) {
    make_left(block, p);
    const bool last = p + 1 == cuts_.pieces, kept = cuts_.pieces > 1;
    float* const own =
        scratch_.at<float>(sums_) + (cuts_.deep ? block.first_row * row_of_sums() : omp_get_thread_num() * own_sums());
    for (int64_t column = block.first_column; column < block.last_column; ++column)
      for (int64_t row = block.first_row; row < block.last_row; ++row) {
        float* const sums = own + (kept ? (row - block.first_row) * row_of_sums() + column * kPair * kPair : 0);
        accumulate_terms({.terms = kTerms<T>,
                          .steps = cuts_.steps(p),
                          .a = left_of(row - block.first_row),
                          .b = right_of(place, column),
                          .sums = sums,
                          .line = kPair,
                          .anew = p == 0},
                         tiles_of(cuts_.rows - row * kPair), tiles_of(cuts_.columns - column * kPair));
        if (last) finish(sums, row * kPair, column * kPair);
      }
  }
  static int64_t tiles_of(int64_t numbers) { return numbers > kTileRows ? 2 : 1; }

  void finish(const float* sums, int64_t row, int64_t column) {
    finish_sums({.sums = sums,
                 .line = kPair,
                 .rows = std::min(kPair, cuts_.rows - row),
                 .columns = std::min(kPair, cuts_.columns - column),
                 .bias = bias_at_ ? bias_at_ + column : nullptr,
                 .relu = relu_,
                 .step = cuts_.columns},
                static_cast<T*>(c_.place()) + row * cuts_.columns + column);
  }

  const std::unique_ptr<Kernel> otherwise_;  // of numbers that terms cannot tell
  Operand a_, b_, c_;
  std::optional<Operand> bias_;
  const bool a_turned_, b_turned_, relu_;
  const int threads_;
  const AmxCuts cuts_;
  Scratch& scratch_;
  const size_t left_at_, right_at_, sums_;
  Factor left_ = {}, right_ = {};
  const float* bias_at_ = nullptr;
  std::atomic<bool> told_ = true;
};

// Whether it takes less time than oneDNN. In bf16 that brings b, as it lies, into another order, and adds up long sums
// slowly. In f32 each number must meet enough others to be worth its three terms.
bool is_faster(const Shape& c, int64_t depth, bool b_turned, DType type) {
  if (type == DType::bf16) return !b_turned && c[0] >= 512 && depth >= 2048 && depth * c.elements() >= (1 << 25);
  return std::min(c[0], c[1]) >= 384 && depth >= 256 && depth * c.elements() >= (int64_t(1) << 29);
}

std::unique_ptr<Kernel> make_amx_matmul(const LoweredKernel& kernel, Context& context) {
  const TensorType& c = context.type(kernel.outputs[0]);
  const int64_t depth = context.type(kernel.inputs[0]).shape[kernel.attributes.integer("transpose_a") ? 0 : 1];
  for (const Attachment& attachment : kernel.attachments)
    if (attachment.kind != Attachment::Kind::bias && attachment.kind != Attachment::Kind::relu) return nullptr;
  if ((c.dtype != DType::bf16 && c.dtype != DType::f32) || !has_amx()) return nullptr;
  if (!is_faster(c.shape, depth, kernel.attributes.integer("transpose_b") != 0, c.dtype)) return nullptr;
  if (c.dtype == DType::bf16) return std::make_unique<AmxMatmul<bf16>>(kernel, context, nullptr);
  auto otherwise = part<OnednnPart>().matmul(kernel, context);
  return otherwise ? std::make_unique<AmxMatmul<float>>(kernel, context, std::move(otherwise)) : nullptr;
}

const KernelRegistration amx_matmul_kernel(ops::matmul, -1, make_amx_matmul);

}  // namespace

}  // namespace neon::cpu
