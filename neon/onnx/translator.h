// The translation of a graph, node by node.
//
// neon's images are (N,H,W,C) and ONNX's (N,C,H,W). An array of the file may therefore have the axes of its value in
// another order, and most operators take it so: only few need a Transpose.
#pragma once
#include <map>

#include "neon/onnx/translate.h"

namespace neon::onnx {

using Order = std::vector<int>;

// An array of the file: its axis i is axis order[i] of the value.
struct Placed {
  std::string name;
  Order order;
};

Order usual_order(int rank);
// (N,H,W,C) -> (N,C,H,W), of any number of axes in space.
Order channels_first(int rank);
// The place of each axis of the value among those of the array.
Order places_of(const Order& order);

class Translator {
 public:
  Translator(const NetGraph& net, const std::map<Value, Tensor>& constants, const OuterForm& form)
      : net_(net), graph_(net.graph()), constants_(constants), form_(form) {}
  Model run();

  // For the functions of single ops.
  const NetGraph& net() const { return net_; }
  const Graph& graph() const { return graph_; }
  Writer& writer() { return writer_; }
  // The name of an array with the value's axes in that order; of one with fewer axes, as it broadcasts to them.
  std::string in_order(Value value, const Order& order);
  std::string as_it_is(Value value) { return in_order(value, usual_order(graph_.shape(value).rank())); }
  // The order in which an array of the value is there.
  Order order_of(Value value) const;
  // The value's array, if it is constant.
  const Tensor* constant(Value value) const;
  void place(Value value, std::string name, Order order) { placed_[value].push_back({std::move(name), order}); }
  void place(Value value, std::string name) { place(value, std::move(name), usual_order(graph_.shape(value).rank())); }

 private:
  void translate(int index);
  void translate_leaf(const Node& node);
  bool is_data(Value value) const;
  // Whether it makes the batch's samples of the data.
  bool is_batch(const Node& node) const;
  void place_samples(Value value);
  std::string applied(const char* op, const std::string& to, const std::optional<Tensor>& array, const Order& order);
  void translate_row(const Node& node);
  Operand operand(Value value, const Order& order);
  std::string with_more_axes(Value value, const Order& order);
  std::string constant_in(Value value, const Order& order);
  std::string repeated(Value value, const Order& order);

  const NetGraph& net_;
  const Graph& graph_;
  const std::map<Value, Tensor>& constants_;
  const OuterForm& form_;
  Writer writer_;
  std::map<Value, std::vector<Placed>> placed_;
  std::map<std::pair<Value, Order>, std::string> written_constants_;
  std::string batch_size_;
  Value samples_;  // the batch's, which are the file's input
};

// The elements of one axis of the array from `first` on.
std::string part_along(Translator& to, const std::string& x, int64_t axis, int64_t first, int64_t count);

// Each translates its node, and returns false for an op that is not its own.
bool translate_product(Translator& to, int index);
bool translate_windows(Translator& to, int index);
bool translate_shapes(Translator& to, int index);
bool translate_reductions(Translator& to, int index);
bool translate_crop(Translator& to, int index);

}  // namespace neon::onnx
