// ctc and ctc_grad on the CPU, a sample a thread. Sums over paths are logarithms in f64, whatever the type of z. The
// cost keeps one step of them; the gradient keeps those of all steps on the way there and one on the way back.
#include <omp.h>

#include <cmath>
#include <limits>

#include "backends/cpu/kernel.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

inline double log_of_exponentials(double a, double b, double c) {
  const double most = std::max(a, std::max(b, c));
  if (most == kImpossible) return most;
  return most + std::log(std::exp(a - most) + std::exp(b - most) + std::exp(c - most));
}

template <typename R>
class CtcKernel : public Kernel {
 public:
  CtcKernel(const LoweredKernel& kernel, Context& context)
      : gradient_(kernel.is(ops::ctc_grad)),
        z_(context.slot(kernel.inputs[0])),
        labels_(context.slot(kernel.inputs[1])),
        lengths_(context.slot(kernel.inputs[2])),
        out_(context.slot(kernel.outputs[0])),
        blank_(kernel.attributes.integer("blank")) {
    const Shape &z = context.type(kernel.inputs[0]).shape, &labels = context.type(kernel.inputs[1]).shape;
    samples_ = z[0], steps_ = z[1], classes_ = z[2], most_ = labels[1];
    if (gradient_) g_ = context.slot(kernel.inputs[3]);
    threads_ = team_of(samples_ * steps_ * states(most_) / (kElementsOfOneThread / 16), context.threads);
    memory_.resize(size_t(threads_), std::vector<double>(size_t(states(most_) * (gradient_ ? steps_ + 2 : 2))));
    classes_of_.resize(size_t(threads_), std::vector<int32_t>(size_t(states(most_))));
  }

  void run(const Run&) override {
#pragma omp parallel for num_threads(threads_) schedule(dynamic) if (threads_ > 1)
    for (int64_t n = 0; n < samples_; ++n) {
      const Sample sample = sample_of(n);
      if (gradient_) differentiate(n, sample);
      else static_cast<R*>(*out_)[n] = R(cost_of(sample));
    }
  }
  std::string implementation() const override { return "ctc"; }

 private:
  // States 0, 2, 4 ... are blanks, state 2 i + 1 is label i.
  static int64_t states(int64_t labels) { return 2 * labels + 1; }
  struct Sample {
    const R* z;
    const int32_t* classes;
    double* memory;
    int64_t states, steps;
  };

  Sample sample_of(int64_t n) {
    const auto thread = size_t(omp_get_thread_num());
    const int32_t* labels = static_cast<const int32_t*>(*labels_) + n * most_;
    std::vector<int32_t>& classes = classes_of_[thread];
    int64_t count = 0;
    for (; count < most_ && labels[count] >= 0; ++count) {
      classes[size_t(2 * count)] = int32_t(blank_);
      classes[size_t(2 * count + 1)] = labels[count];
    }
    classes[size_t(2 * count)] = int32_t(blank_);
    const int64_t steps = std::clamp<int64_t>(static_cast<const int32_t*>(*lengths_)[n], 0, steps_);
    return {static_cast<const R*>(*z_) + n * steps_ * classes_, classes.data(), memory_[thread].data(), states(count),
            steps};
  }

  double at(const Sample& x, int64_t t, int64_t s) const {
    return x.classes[s] < classes_ ? double(x.z[t * classes_ + x.classes[s]]) : kImpossible;
  }
  static bool skips(const Sample& x, int64_t s) { return s % 2 == 1 && s > 1 && x.classes[s] != x.classes[s - 2]; }

  // Sums at step t over the paths up to it, from those at the step before.
  void advance(const Sample& x, int64_t t, const double* before, double* now) const {
    for (int64_t s = 0; s < x.states; ++s) {
      if (t == 0) {
        now[s] = s < 2 ? at(x, t, s) : kImpossible;
        continue;
      }
      const double one = s > 0 ? before[s - 1] : kImpossible, two = skips(x, s) ? before[s - 2] : kImpossible;
      now[s] = log_of_exponentials(before[s], one, two) + at(x, t, s);
    }
  }

  static double cost_at_end(const Sample& x, const double* last) {
    if (x.steps == 0) return x.states == 1 ? 0 : -kImpossible;
    const double other = x.states > 1 ? last[x.states - 2] : kImpossible;
    return -log_of_exponentials(last[x.states - 1], other, kImpossible);
  }

  double cost_of(const Sample& x) const {
    double *now = x.memory, *before = x.memory + x.states;
    for (int64_t t = 0; t < x.steps; ++t) {
      std::swap(now, before);
      advance(x, t, before, now);
    }
    return cost_at_end(x, now);
  }

  void differentiate(int64_t n, const Sample& x) const {
    R* dz = static_cast<R*>(*out_) + n * steps_ * classes_;
    std::fill_n(dz, steps_ * classes_, R(0));
    if (x.steps == 0) return;
    double *sums = x.memory + 2 * x.states, *now = x.memory, *behind = x.memory + x.states;
    for (int64_t t = 0; t < x.steps; ++t) advance(x, t, sums + (t - 1) * x.states, sums + t * x.states);
    const double cost = cost_at_end(x, sums + (x.steps - 1) * x.states), g = double(static_cast<const R*>(*g_)[n]);
    if (!std::isfinite(cost)) return;
    for (int64_t t = x.steps - 1; t >= 0; --t) {
      std::swap(now, behind);
      retreat(x, t, behind, now);
      for (int64_t s = 0; s < x.states; ++s)
        dz[t * classes_ + x.classes[s]] -= R(g * std::exp(sums[t * x.states + s] + now[s] + cost));
    }
  }

  // Sums at step t over the paths behind it.
  void retreat(const Sample& x, int64_t t, const double* behind, double* now) const {
    for (int64_t s = 0; s < x.states; ++s) {
      if (t == x.steps - 1) {
        now[s] = s >= x.states - 2 ? 0 : kImpossible;
        continue;
      }
      const auto from = [&](int64_t to, bool goes) { return goes ? behind[to] + at(x, t + 1, to) : kImpossible; };
      now[s] = log_of_exponentials(from(s, true), from(s + 1, s + 1 < x.states),
                                   from(s + 2, s + 2 < x.states && skips(x, s + 2)));
    }
  }

  const bool gradient_;
  void **z_, **labels_, **lengths_, **out_, **g_ = nullptr;
  const int64_t blank_;
  int64_t samples_ = 0, steps_ = 0, classes_ = 0, most_ = 0;
  int threads_ = 1;
  std::vector<std::vector<double>> memory_;       // by thread: two steps, then all steps of the gradient
  std::vector<std::vector<int32_t>> classes_of_;  // by thread: of the states
};

std::unique_ptr<Kernel> make_ctc(const LoweredKernel& kernel, Context& context) {
  if (context.type(kernel.inputs[0]).dtype == DType::f64) return std::make_unique<CtcKernel<double>>(kernel, context);
  return std::make_unique<CtcKernel<float>>(kernel, context);
}

const KernelRegistration ctc_kernels[] = {{ops::ctc, 0, make_ctc}, {ops::ctc_grad, 0, make_ctc}};

}  // namespace

}  // namespace neon::cpu
