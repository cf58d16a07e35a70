// Chains of instructions over columns that have a compiled walk: batch norm's sums, its result with a rectifier and an
// addend, and its gradient. A chain is known by its operations, in any kernel, and a walk rounds every operation as the
// chain does. With u = (x - a) b and numbers a to e for each column:
//   sum(x - a), sum((x - a)^2)      sum(g), sum(g u)      rectifier(u + c), rectifier((u + c) + g)
//   derivative of the rectifier by u + c, times g         e (g - (c + u d) factor)
#include <algorithm>
#include <array>

#include "backends/cpu/fused_plan.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

template <typename R>
class BodyFinder {
 public:
  BodyFinder(const SegmentPlan<R>& plan, int pass, const std::vector<BodyPlan<R>>& found)
      : plan_(plan), pass_(pass), found_(found) {
    if constexpr (std::is_same_v<R, float>) walks_ = elementwise::active_level().columns_f32;
    else walks_ = elementwise::active_level().columns_f64;
  }

  std::optional<BodyPlan<R>> find(int i) const {
    if (at(i).kind == Instruction::Kind::reduce) return find_sums(i);
    for (const auto matches : {&BodyFinder::gradient, &BodyFinder::gated, &BodyFinder::rectified}) {
      BodyPlan<R> body;
      body.last = i;
      if ((this->*matches)(i, body)) return body;
    }
    return {};
  }

 private:
  const RegisterPlan<R>& at(int i) const { return plan_.registers[size_t(i)]; }
  int input(int i, int k) const { return at(i).inputs[size_t(k)]; }
  bool reaches(int i, Reach reach) const { return at(i).reach == reach; }

  bool is(int i, OpName row, int derivative = -1) const {
    const RegisterPlan<R>& reg = at(i);
    return reg.kind == Instruction::Kind::compute && reg.reach == Reach::full && reg.op->row &&
           reg.op->derivative_operand == derivative && std::string_view(row) == reg.op->row->name;
  }

  // Whether i is full `row` other, in either order if the row's operands may change places.
  bool with(int i, OpName row, Reach reach, int& full, int& other) const {
    if (!is(i, row)) return false;
    for (int k = 0; k < (is(i, ops::sub) ? 1 : 2); ++k) {
      full = input(i, k), other = input(i, 1 - k);
      if (reaches(full, Reach::full) && reaches(other, reach)) return true;
    }
    return false;
  }

  // i = (x - a) b
  bool near(int i, BodyPlan<R>& body) const {
    int difference = 0, scale = 0, shift = 0;
    if (!with(i, ops::mul, Reach::kept, difference, scale) || !with(difference, ops::sub, Reach::kept, body.x, shift))
      return false;
    body.kept = {shift, scale};
    return true;
  }

  // i = (x - a) b + c
  bool affine(int i, BodyPlan<R>& body) const {
    int product = 0, offset = 0;
    if (!with(i, ops::add, Reach::kept, product, offset) || !near(product, body)) return false;
    body.kept.push_back(offset);
    return true;
  }

  // i = (x - a) b + c, or that and g
  bool joined(int i, BodyPlan<R>& body) const {
    if (!is(i, ops::add)) return false;
    for (int k = 0; k < 2; ++k)
      if (body.g = input(i, 1 - k); reaches(body.g, Reach::full) && affine(input(i, k), body)) return true;
    body.g = -1;
    return false;
  }

  // Which rectifier i is: its argument, and its numbers.
  int rectifier(int i, int& argument, BodyPlan<R>& body) const {
    argument = i;
    if (is(i, ops::relu)) return argument = input(i, 0), 1;
    if (!is(i, ops::relu_clip) || !reaches(input(i, 1), Reach::scalar) || !reaches(input(i, 2), Reach::scalar))
      return 0;
    argument = input(i, 0), body.slope = input(i, 1), body.most = input(i, 2);
    return 2;
  }

  bool rectified(int i, BodyPlan<R>& body) const {
    int argument = i;
    const int which = rectifier(i, argument, body);
    if (affine(argument, body)) return body.walk = walks_->scaled[which], true;
    return joined(argument, body) && (body.walk = walks_->joined[which], true);
  }

  bool gated(int i, BodyPlan<R>& body) const {
    int argument = 0;
    if (is(i, ops::relu, 0)) {
      if (rectifier(input(i, 1), argument, body) != 1 || !affine(argument, body)) return false;
      body.walk = walks_->gated[0];
    } else {
      if (!is(i, ops::relu_clip, 0) || at(i).inputs.size() != 4 || !affine(input(i, 1), body)) return false;
      body.slope = input(i, 2), body.most = input(i, 3);
      if (!reaches(body.slope, Reach::scalar) || !reaches(body.most, Reach::scalar)) return false;
      body.walk = walks_->gated[1];
    }
    body.g = input(i, 0);
    return reaches(body.g, Reach::full);
  }

  // i = e (g - (c + u d) factor)
  bool gradient(int i, BodyPlan<R>& body) const {
    int difference = 0, all = 0, sum = 0, mean = 0, product = 0, u = 0, along = 0;
    if (!with(i, ops::mul, Reach::kept, difference, all) || !is(difference, ops::sub)) return false;
    body.g = input(difference, 0);
    if (!reaches(body.g, Reach::full) || !with(input(difference, 1), ops::mul, Reach::scalar, sum, body.factor) ||
        !with(sum, ops::add, Reach::kept, product, mean) || !with(product, ops::mul, Reach::kept, u, along) ||
        !near(u, body))
      return false;
    body.kept.insert(body.kept.end(), {mean, along, all});
    body.walk = walks_->gradient;
    return true;
  }

  // A walk that makes sum i together with another sum.
  std::optional<BodyPlan<R>> find_sums(int i) const {
    for (int j : plan_.reductions)
      for (const auto& [one, other] : {std::array{i, j}, std::array{j, i}}) {
        if (i == j || is_made(j) || !is_sum(one) || !is_sum(other)) continue;
        BodyPlan<R> body;
        body.sums[0] = one, body.sums[1] = other, body.last = std::max(one, other);
        if (square_sums(input(one, 0), input(other, 0), body) || product_sums(input(one, 0), input(other, 0), body))
          return body;
      }
    return {};
  }

  bool is_made(int sum) const {
    return std::ranges::any_of(found_, [&](const BodyPlan<R>& body) { return std::ranges::count(body.sums, sum) > 0; });
  }

  bool is_sum(int i) const {
    return at(i).reduction == Reduction::sum && at(i).known == pass_ + 1 && reaches(input(i, 0), Reach::full);
  }

  bool square_sums(int one, int other, BodyPlan<R>& body) const {
    int shift = 0;
    if (!is(other, ops::square) || input(other, 0) != one || !with(one, ops::sub, Reach::kept, body.x, shift))
      return false;
    body.kept = {shift};
    body.walk = walks_->square_sums;
    return true;
  }

  bool product_sums(int one, int other, BodyPlan<R>& body) const {
    if (!is(other, ops::mul)) return false;
    body.g = one;
    for (int k = 0; k < 2; ++k)
      if (input(other, k) == one && near(input(other, 1 - k), body)) return body.walk = walks_->product_sums, true;
    return false;
  }

  const SegmentPlan<R>& plan_;
  int pass_;
  const std::vector<BodyPlan<R>>& found_;
  const elementwise::Columns<R>* walks_;
};

}  // namespace

template <typename R>
std::optional<BodyPlan<R>> find_body(const SegmentPlan<R>& plan, int i, int pass,
                                     const std::vector<BodyPlan<R>>& found) {
  return BodyFinder<R>(plan, pass, found).find(i);
}

template std::optional<BodyPlan<float>> find_body(const SegmentPlan<float>&, int, int,
                                                  const std::vector<BodyPlan<float>>&);
template std::optional<BodyPlan<double>> find_body(const SegmentPlan<double>&, int, int,
                                                   const std::vector<BodyPlan<double>>&);

}  // namespace neon::cpu
