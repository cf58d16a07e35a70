// Arrays on a device, and the backend that makes them and evaluates expressions over them.
//
//   Backend be({.device = "gpu"});
//   Array a = be.uniform({10, 20}).cast(DType::f16), b = be.ones({20, 5}, DType::f16);
//   Array c = relu(dot(a, b));
//   Tensor on_the_host = c.get();
//
// A copy of an Array is the same elements under another name, as in NumPy: `=` gives the name to another array,
// assign() writes the elements. Slices, reshaped and transposed arrays are views: what is assigned to them is in the
// array that they show. Programs are compiled once for each form of an expression, whatever arrays and numbers it is
// about.
//
// Backends of one GPU share it: all of them, and what they made, are for one thread at a time.
#pragma once
#include <map>
#include <span>
#include <string>
#include <utility>

#include "neon/array/lazy.h"
#include "neon/core/tensor.h"

namespace neon {

class Array : public Lazy {
 public:
  // Evaluates into a new array of the expression's type.
  Array(const Lazy& value);
  // A view of an array, or an array that was evaluated.
  struct Place {};
  Array(Place, std::shared_ptr<const Node> node) : Lazy(std::move(node)) {}

  int64_t elements() const { return shape().elements(); }
  // Writes the elements: broadcast to the shape of this, and rounded to its type (to whole numbers of integers, which
  // saturate). The expression may read this array, or parts of it: it sees what was there before.
  Array& assign(const Lazy& value);
  Array& operator+=(const Lazy& b) { return assign(*this + b); }
  Array& operator-=(const Lazy& b) { return assign(*this - b); }
  Array& operator*=(const Lazy& b) { return assign(*this * b); }
  Array& operator/=(const Lazy& b) { return assign(*this / b); }
  // Writes rows along an axis, which a list of i32 indices names: broadcast to as many, of a place that is named twice
  // the last. The list is looked at on the host, which waits for it, and the whole array is written anew (of i64 it
  // keeps 53 bits), by programs of their own for each length of the list.
  Array& put(const Lazy& indices, const Lazy& rows, int axis = 0);
  // Takes values of the same shape.
  Array& set(const Tensor& values);
  Tensor get() const;
  double item() const;  // of one element

  Array reshape(std::vector<int64_t> sizes) const { return view(Lazy::reshape(std::move(sizes))); }
  Array transpose(std::vector<int64_t> axes = {}) const { return view(Lazy::transpose(std::move(axes))); }
  Array T() const { return transpose(); }
  Array slice(int axis, int64_t first, int64_t count) const { return view(Lazy::slice(axis, first, count)); }

  // With bits above 0, what is assigned through this name, and through views that are made of it from then on, keeps so
  // many bits of mantissa, rounded up or down stochastically, without bias: 1 to 15 of f32, 10 of f16, 7 of bf16; of
  // signed integers any number, which makes them whole.
  Array& round_by_chance(int bits);
  int rounding() const { return rounding_; }  // those bits

 private:
  friend class Backend;
  Array view(const Lazy& of) const {
    Array out(Place{}, of.node());
    out.rounding_ = rounding_;
    return out;
  }

  int rounding_ = 0;
};

struct BackendOptions {
  std::string device = "cpu";  // or "gpu"
  int device_index = 0;        // which GPU
  uint64_t seed = 0;           // of all draws
  DType dtype = DType::f32;    // of arrays that do not say
  int threads = 0;             // of the CPU; 0: as many as there are
  // For a GPU: products of f32 may take operands rounded to 10 bits of mantissa (TF32), as tensor cores are made for.
  bool tf32 = false;
  // For a GPU: its libraries' algorithms are timed when a program is compiled and the fastest is remembered; without,
  // the same are taken each time, and give the same bits.
  bool timed = false;
  // Most memory of values between kernels, in programs kept for expressions of the same form. The program used last is
  // always kept.
  int64_t program_bytes = int64_t(4) << 30;
};

// Whether and where draws go on: they are keyed by the seed and the number of evaluations before.
struct DrawState {
  uint64_t seed = 0, evaluations = 0;
};

class Backend {
 public:
  explicit Backend(const BackendOptions& options = {});

  // The elements are undefined.
  Array empty(const Shape& shape) const { return empty(shape, options_dtype()); }
  Array empty(const Shape& shape, DType dtype) const;
  Array full(const Shape& shape, double value) const { return full(shape, value, options_dtype()); }
  Array full(const Shape& shape, double value, DType dtype) const;
  Array zeros(const Shape& shape) const { return full(shape, 0); }
  Array zeros(const Shape& shape, DType dtype) const { return full(shape, 0, dtype); }
  Array ones(const Shape& shape) const { return full(shape, 1); }
  Array ones(const Shape& shape, DType dtype) const { return full(shape, 1, dtype); }
  Array array(const Tensor& values) const;  // of its type
  Array array(std::span<const double> values, const Shape& shape, DType dtype) const;
  Array array(std::span<const double> values, const Shape& shape) const {
    return array(values, shape, options_dtype());
  }
  Array array(std::span<const float> values, const Shape& shape, DType dtype = DType::f32) const;
  Array array(std::initializer_list<double> values, const Shape& shape) const {
    return array({values.begin(), values.size()}, shape, options_dtype());
  }
  Array array(std::initializer_list<double> values, const Shape& shape, DType dtype) const {
    return array({values.begin(), values.size()}, shape, dtype);
  }
  // 0, 1, ... along an axis of a shape
  Lazy index(const Shape& shape, int axis = 0) const;

  // Drawn anew in each evaluation, the same on every device; in f32, whatever type arrays have that do not say.
  // Throws where low is above high, stddev below 0, keep no probability.
  Lazy uniform(const Shape& shape, double low = 0, double high = 1) const;
  Lazy normal(const Shape& shape, double mean = 0, double stddev = 1) const;
  // 1 with that probability, else 0
  Lazy mask(const Shape& shape, double keep) const;
  DrawState draw_state() const;
  void set_draw_state(const DrawState& state);

  // Several assignments at once, each of what was there before; they share kernels where they can.
  void assign(const std::vector<std::pair<Array, Lazy>>& assignments) const;

  // neon's histograms: a row of counts for each call, by tag. Other bins or another offset forget the rows.
  Array hist(const Lazy& a, const std::string& tag);
  void set_hist_buffers(int64_t bins, int64_t offset);
  // All rows (rows, bins) i32, and the last one of each tag; forgets them.
  std::pair<Tensor, std::map<std::string, int64_t>> dump_hist_data();

  // Waits until all that was asked for is done.
  void synchronize() const;
  // The program of the last evaluation, kernel by kernel, and how many there were.
  std::string last_program() const;
  int last_kernels() const;
  int64_t programs_compiled() const;

  struct State;

 private:
  DType options_dtype() const;
  std::shared_ptr<State> state_;
};

// c = alpha a·b + beta c, rounded once to c's type; with relu, of the product before c is added. Transposed operands
// are taken as they lie. c has the product's shape.
struct DotOptions {
  double alpha = 1, beta = 0;
  bool relu = false;
};
Array& compound_dot(const Lazy& a, const Lazy& b, Array& c, const DotOptions& options = {});
// Products of many matrices: a (B,M,K), b (B,K,N), or one of them a single matrix for all. c (B,M,N) takes each, c
// (M,N) their sum.
Array& batched_dot(const Lazy& a, const Lazy& b, Array& c, const DotOptions& options = {});
// Kahan's sum: adds add_scale·b to a; `carry` holds what a has of too much, and is taken off times carry_scale.
void compensated_sum(Array& a, Array& carry, const Lazy& b, double carry_scale = 1, double add_scale = 1);

// Gradients of an expression, derived: of sum(seed * output), seed being ones where it is not given. An array whose
// elements do not reach the output has gradient 0. Gradients of gradients are not derived.
class Autodiff {
 public:
  explicit Autodiff(const Lazy& output);
  Autodiff(const Lazy& output, const Lazy& seed);
  // As an expression that can go on; of an array's shape and type.
  Lazy gradient(const Array& array) const;
  std::vector<Lazy> gradients(const std::vector<Array>& arrays) const;
  // Into arrays, all in one program.
  void back_prop(const std::vector<Array>& arrays, const std::vector<Array>& gradients) const;

 private:
  Lazy output_;
  std::shared_ptr<const Lazy::Node> seed_;  // null: ones
};

}  // namespace neon
