// Expressions drawn from a seed, over arrays of all types and views of them, with the very same computed element by
// element in double, and a bound of its error beside each number; and slopes, in one direction of all arrays, that are
// carried along.
#pragma once
#include <vector>

#include "neon/core/random.h"
#include "tests/array/support.h"

namespace neon::test {

// An expression and what it must give: values, how far off they may be, and slopes.
struct Known {
  Lazy lazy;
  Shape shape;
  std::vector<double> value, error, slope;
};

// A dense array, what must be in it, and the direction in which slopes are taken.
struct Owned {
  Array array;
  Tensor elements;
  std::vector<double> direction;
};

// A function at a place: its value and derivatives, and by how much it may jump within the error of its operands.
struct Outcome {
  double value, by_a = 0, by_b = 0, jump = 0;
};

class RandomExpressions {
 public:
  // With `derives` all is of f64.
  RandomExpressions(uint64_t seed, bool derives, Backend& be);

  const std::vector<Known>& values() const { return values_; }  // the last is the deepest
  std::vector<Owned> owned;
  // Whether a slope was taken where there is none.
  bool kinked() const { return kinked_; }
  // Where an expression draws, it draws what it is known to once the backend is brought here.
  void rewind() const {
    if (drawn_) be_.set_draw_state(drawn_at_);
  }

  int below(size_t bound) { return int(draw_.below(uint32_t(bound))); }
  bool chance(int percent) { return below(100) < percent; }
  double uniform() { return draw_.uniform(); }
  DType type();
  // A part of an array, turned or cut, and where its elements stand.
  std::pair<Array, std::vector<int64_t>> part(Array array);

 private:
  void leaf();
  void node();
  void unary();
  void binary();
  void select();
  void reduce();
  void product();
  void rows();
  void join();
  void cast_to();
  void source();

  const Known& any();
  Shape shape();
  void keep(Known known);
  Known elementwise(const Known& a, const Known& b, Lazy lazy, const std::function<Outcome(double, double, double)>& f);
  std::pair<Lazy, std::vector<int64_t>> view_of(const Lazy& x);

  Stream draw_;
  const bool derives_;
  Backend& be_;
  int64_t sizes_[3];
  std::vector<Known> values_;
  bool drawn_ = false, kinked_ = false;
  DrawState drawn_at_;
};

inline double unit(DType dtype) { return is_floating(dtype) ? unit_roundoff(dtype) : 0; }
bool fits(const Shape& shape, const Shape& to);  // broadcasts to it
int64_t flat(const Index& index, const Shape& shape);
// For each element of `to`, the flat place in `from` that broadcasting reads.
std::vector<int64_t> places(const Shape& from, const Shape& to);
// The same elements elsewhere: element i of the result is element from[i].
Known moved(const Known& x, const Lazy& lazy, const std::vector<int64_t>& from);
// As it is stored in a type.
void round_to(DType dtype, double& value, double& error);

}  // namespace neon::test
