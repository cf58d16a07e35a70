// Adds nodes and constants to a model, and gives their results names.
#pragma once
#include <optional>
#include <set>

#include "neon/onnx/model.h"

namespace neon::onnx {

class Writer {
 public:
  // The layer that asks for what follows, for the names of nodes.
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  // A node with one result, whose name it returns.
  std::string add(const std::string& op, std::vector<std::string> inputs, Attributes attributes = {});
  // Constants: a number, a list of whole numbers (equal ones are shared), an array.
  std::string number(double value);
  std::string list(const std::vector<int64_t>& values);
  std::string array(const std::string& wish, const Tensor& tensor);
  // The model, whose output is the array of that name.
  Model finish(const std::string& output);

 private:
  std::string constant_name(const std::string& wish);
  Model model_;
  std::string scope_;
  int64_t count_ = 0;
  std::set<std::string> names_;
  std::map<std::string, std::string> shared_;
};

// The array with its axes in another order: axis i of the result is axis order[i] of `tensor`. f32 or i64.
Tensor permuted(const Tensor& tensor, const std::vector<int>& order);

}  // namespace neon::onnx
