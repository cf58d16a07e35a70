// Ops that move rows between ranks. Each rank has some rows of an array, which all together are one.
#pragma once
#include <vector>

#include "backends/graph/graph.h"

namespace neon {

// How many rows each rank has, and which rank this is.
struct RankRows {
  std::vector<int64_t> rows;
  int rank = 0;
  int ranks() const { return int(rows.size()); }
  int64_t own() const { return rows[size_t(rank)]; }
  int64_t first(int of) const;  // of a rank's rows, among those of all
  int64_t all() const { return first(ranks()); }
};

// x (own, ...) -> (all, ...): the rows of all ranks, in their order.
Value all_gather(Graph& graph, Value x, const RankRows& rows);
// x (all, ...) -> (own, ...): the sum over ranks of the rows that are this rank's.
Value reduce_scatter(Graph& graph, Value x, const RankRows& rows);
// The same of several arrays of one type, each with rows of its own, in one exchange.
std::vector<Value> all_gather(Graph& graph, std::vector<Value> arrays, const std::vector<RankRows>& rows);
std::vector<Value> reduce_scatter(Graph& graph, std::vector<Value> arrays, const std::vector<RankRows>& rows);
// Turns some columns of all rows into all columns of own rows: x (all, n) -> (ranks, own, n), part p of which came from
// rank p. Every rank has as many columns.
Value columns_to_rows(Graph& graph, Value x, const RankRows& rows);
// The way back: x (ranks, own, n) -> (all, n).
Value rows_to_columns(Graph& graph, Value x, const RankRows& rows);

// The rows that a node of these ops names, of one of its arrays.
RankRows rank_rows(const Attributes& attributes, size_t array = 0, size_t arrays = 1);

}  // namespace neon
