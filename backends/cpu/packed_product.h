// Products of two matrices in f64, which oneDNN does not have: C (rows, columns) = A (rows, depth) B (depth, columns).
// Parts of both are packed, so that the sums' loop (backends/elementwise/level_products.cpp) reads them in order: all
// columns of some of the depth, which stay in the cache of all threads, and for each thread a block of rows. Products
// are added one after the other along the depth, so that a sum has one order, and zeros among them change no bit.
#pragma once
#include <omp.h>

#include <algorithm>

#include "backends/cpu/block_product.h"
#include "backends/cpu/kernel.h"

namespace neon::cpu {

class PackedProduct {
 public:
  static constexpr int64_t kColumns = elementwise::kProductColumns;  // of a panel
  static constexpr int64_t kRows = 84, kDepth = 128;                 // of a block
  static constexpr int64_t kLeftRow = kDepth + 8;  // rows that lie 1024 bytes apart would meet in few lines of a cache

  PackedProduct(Scratch& scratch, int64_t rows, int64_t depth, int64_t columns, int threads)
      : scratch_(scratch),
        rows_(rows),
        depth_(depth),
        columns_(columns),
        threads_(team_of(rows * depth * columns / kAlone, threads)),
        panels_(divided_up(columns, kColumns)),
        row_blocks_(divided_up(rows, kRows)) {
    if (row_blocks_ > threads_) row_blocks_ = divided_up(row_blocks_, threads_) * threads_;
    rows_of_block_ = std::max<int64_t>(divided_up(rows, std::max<int64_t>(row_blocks_, 1)), 1);
    row_blocks_ = divided_up(rows, rows_of_block_);
    // Long sums for few rows: each thread has its columns, and waits for nobody. Otherwise row blocks are shared out,
    // and where they are fewer than threads the columns, too.
    apart_ = rows <= depth && columns >= kColumnsApart * threads_;
    const int64_t parts = apart_ ? threads_ : divided_up(threads_, std::max<int64_t>(row_blocks_, 1));
    panels_of_task_ = std::max<int64_t>(divided_up(panels_, parts), 1);
    parts_ = divided_up(panels_, panels_of_task_);
    right_ = scratch.take(size_t(panels_ * std::min(depth, kDepth) * kColumns) * sizeof(double));
    left_ = scratch.take(size_t(threads_ * kOfThread) * sizeof(double));
  }

  // left(first row, rows, first of the depth, depth, to) gives A's element (i, k), counted from the first, to
  // to[i * kLeftRow + k], or where left.turned() to to[k * kRows + i]. right(first of the depth, depth, first column,
  // columns, to) gives B's (k, j) to to[k * kColumns + j].
  // finish(row, first column, columns, at) is called with whole sums. Row i of C is at c + i * c_row.
  template <typename Left, typename Right, typename Finish>
  void run(const Left& left, const Right& right, const Finish& finish, double* c, int64_t c_row) {
    const auto multiply = [&](int64_t block, int64_t part, int64_t first, int64_t depth) {
      const int64_t row = block * rows_of_block_, panel = part * panels_of_task_;
      const int64_t last = std::min(panels_, panel + panels_of_task_);
      multiply_rows(left, row, panel, last, first, depth, c, c_row);
      if (first + depth < depth_) return;
      const int64_t column = panel * kColumns, columns = std::min(columns_, last * kColumns) - column;
      for (int64_t i = row; i < std::min(rows_, row + rows_of_block_); ++i)
        finish(i, column, columns, c + i * c_row + column);
    };
    if (apart_) {
#pragma omp parallel for num_threads(threads_) schedule(static) if (threads_ > 1)
      for (int64_t part = 0; part < parts_; ++part)
        each_depth([&](int64_t first, int64_t depth) {
          const int64_t last = std::min(panels_, (part + 1) * panels_of_task_);
          for (int64_t panel = part * panels_of_task_; panel < last; ++panel) pack_panel(right, panel, first, depth);
          for (int64_t block = 0; block < row_blocks_; ++block) multiply(block, part, first, depth);
        });
      return;
    }
#pragma omp parallel num_threads(threads_) if (threads_ > 1)
    each_depth([&](int64_t first, int64_t depth) {
#pragma omp for schedule(static)
      for (int64_t panel = 0; panel < panels_; ++panel) pack_panel(right, panel, first, depth);
#pragma omp for schedule(static)
      for (int64_t task = 0; task < row_blocks_ * parts_; ++task) multiply(task / parts_, task % parts_, first, depth);
    });
  }

 private:
  static constexpr int64_t kAlone = 65536;                             // products that are worth no second thread
  static constexpr int64_t kOfThread = kRows * (kLeftRow + kColumns);  // numbers in its memory
  static constexpr int64_t kColumnsApart = 32;  // of a thread at least, each of which packs all rows for itself

  // One block of no depth, too: its sums are 0.
  template <typename Visit>
  void each_depth(Visit&& visit) const {
    for (int64_t first = 0; first == 0 || first < depth_; first += kDepth)
      visit(first, std::min(kDepth, depth_ - first));
  }

  // Whatever the depth of the block: threads may be at different ones.
  double* panel_at(int64_t panel) { return scratch_.at<double>(right_) + panel * std::min(depth_, kDepth) * kColumns; }

  // Columns behind the last are 0.
  template <typename Right>
  void pack_panel(const Right& right, int64_t panel, int64_t first, int64_t depth) {
    double* const to = panel_at(panel);
    const int64_t columns = std::min(kColumns, columns_ - panel * kColumns);
    if (columns < kColumns) std::fill_n(to, depth * kColumns, 0.0);
    right(first, depth, panel * kColumns, columns, to);
  }

  template <typename Left>
  void multiply_rows(const Left& left, int64_t row, int64_t panel, int64_t last, int64_t first, int64_t depth,
                     double* c, int64_t c_row) {
    double* const packed = scratch_.at<double>(left_) + omp_get_thread_num() * kOfThread;
    double* const tile = packed + kRows * kLeftRow;
    const int64_t rows = std::min(rows_of_block_, rows_ - row);
    left(row, rows, first, depth, packed);
    const int64_t row_step = left.turned() ? 1 : kLeftRow, step = left.turned() ? kRows : 1;
    const BlockProduct product{rows, depth, kColumns, row_step, step, kColumns, c_row, first > 0};
    for (; panel < last; ++panel) {
      double* const to = c + row * c_row + panel * kColumns;
      const int64_t columns = std::min(kColumns, columns_ - panel * kColumns);
      if (columns == kColumns) {
        multiply_blocks(product, packed, panel_at(panel), to);
        continue;
      }
      const BlockProduct apart{rows, depth, kColumns, row_step, step, kColumns, kColumns, first > 0};
      if (first > 0)
        for (int64_t i = 0; i < rows; ++i) {
          std::copy_n(to + i * c_row, columns, tile + i * kColumns);
          std::fill(tile + i * kColumns + columns, tile + (i + 1) * kColumns, 0.0);
        }
      multiply_blocks(apart, packed, panel_at(panel), tile);
      for (int64_t i = 0; i < rows; ++i) std::copy_n(tile + i * kColumns, columns, to + i * c_row);
    }
  }

  Scratch& scratch_;
  int64_t rows_, depth_, columns_;
  int threads_;
  int64_t panels_, row_blocks_, rows_of_block_ = 1, panels_of_task_ = 1, parts_ = 0;
  bool apart_ = false;           // a thread's columns are its own
  size_t right_ = 0, left_ = 0;  // in the scratch memory
};

// Packs a matrix (rows, depth) for the left side, or the transposed of one (depth, rows).
struct LeftMatrix {
  const double* a;
  int64_t row, step;  // from a row to the next, and from one of the depth to the next: one of them is 1
  bool turned() const { return row == 1; }
  void operator()(int64_t first_row, int64_t rows, int64_t first, int64_t depth, double* to) const {
    const double* const from = a + first_row * row + first * step;
    if (turned())
      for (int64_t k = 0; k < depth; ++k) std::copy_n(from + k * step, rows, to + k * PackedProduct::kRows);
    else
      for (int64_t i = 0; i < rows; ++i) std::copy_n(from + i * row, depth, to + i * PackedProduct::kLeftRow);
  }
};

// Packs a matrix (depth, columns) for the right side, or the transposed of one (columns, depth).
struct RightMatrix {
  const double* b;
  int64_t step, column;  // from one of the depth to the next, and from a column to the next: one of them is 1
  void operator()(int64_t first, int64_t depth, int64_t first_column, int64_t columns, double* to) const {
    const double* const from = b + first * step + first_column * column;
    if (column == 1) {
      for (int64_t k = 0; k < depth; ++k) std::copy_n(from + k * step, columns, to + k * PackedProduct::kColumns);
    } else {
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t j = 0; j < columns; ++j) to[k * PackedProduct::kColumns + j] = from[j * column + k];
    }
  }
};

// Adds a bias of columns, where one is given, to whole sums.
struct BiasAndRelu {
  const double* bias;
  bool relu;
  void operator()(int64_t, int64_t first_column, int64_t columns, double* at) const {
    if (bias)
      for (int64_t j = 0; j < columns; ++j) at[j] += bias[first_column + j];
    if (relu)
      for (int64_t j = 0; j < columns; ++j) at[j] = at[j] <= 0 ? 0 : at[j];  // NaN stays
  }
};

}  // namespace neon::cpu
