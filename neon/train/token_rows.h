// Weights that have some numbers for each token of a text, where a net begins with those of a net for another text.
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "models/step_graph.h"
#include "neon/core/tensor.h"

namespace neon {

// Tokens are matched by their texts.
class TokenRows {
 public:
  // `trained`, `here`: the samples of both nets. `last`: the layers that end this one.
  TokenRows(const SampleMeaning& trained, const SampleMeaning& here, std::vector<std::string> last);
  // Whether both nets know the texts of their tokens, and these differ.
  bool differ() const { return differ_; }
  // The axis with numbers for each token; -1 without one.
  int axis_of(const Parameter& p) const;
  int axis_of(const LayerState& s) const;
  // Tokens here that the trained net has not.
  int64_t count_new() const { return std::ranges::count(from_, -1); }
  // Copies the numbers of the tokens that both nets have, along `axis`. False, and nothing is copied, where no token is
  // in both, or another axis has another size.
  bool take(const Tensor& stored, Tensor& here, int axis) const;
  // "by token: e/W; 4 of 5 tokens are among the 6 of that net, new: 'x'"
  std::string line(const std::vector<std::string>& names) const;

 private:
  // Whether a layer that ends the net has an array of that shape with numbers for each token to foretell.
  bool is_of_outputs(const std::string& owner, const Shape& shape) const;

  bool differ_ = false, foretold_ = false;     // foretold: both nets predict tokens
  const std::vector<std::string> then_, now_;  // texts of tokens
  const std::vector<std::string> last_;
  std::vector<int64_t> from_;  // for each token here, the number of that text there; -1: it is new
};

}  // namespace neon
