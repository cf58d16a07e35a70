// The shape of lowered training steps: how many kernels, what stands alone, how much memory; that a step that must
// not count leaves every variable alone; and that steps repeat to the bit.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "backends/graph/ops.h"
#include "neon/core/team.h"
#include "tests/backends/nets.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

// Writers of variables among the kernels.
int updates(const Lowered& lowered) {
  const auto variables = lowered.graph.leaves(LeafKind::variable);
  return int(std::ranges::count_if(lowered.kernels, [&](const LoweredKernel& kernel) {
    return std::ranges::any_of(kernel.outputs, [&](Value v) { return std::ranges::count(variables, v) > 0; });
  }));
}

// Kernels that only move or convert: of one instruction besides loads, which is the identity.
int lone_copies(const Lowered& lowered) {
  return int(std::ranges::count_if(lowered.kernels, [](const LoweredKernel& kernel) {
    if (!kernel.fused) return kernel.is(ops::transpose) || kernel.is(ops::concat) || kernel.is(ops::slice);
    if (kernel.fused->segments.size() != 1 || kernel.outputs.size() != 1) return false;
    const auto& body = kernel.fused->segments[0].body;
    return std::ranges::all_of(body, [](const Instruction& i) {
      return i.kind == Instruction::Kind::load || (i.kind == Instruction::Kind::compute && i.op->is(ops::identity));
    });
  }));
}

void check_structure(const Net& net, size_t most_kernels) {
  Variables variables;
  const auto program = net.compile(variables);
  const Lowered& lowered = program->lowered();
  INFO(to_string(lowered));
  CHECK(lowered.kernels.size() <= most_kernels);
  CHECK(updates(lowered) == 1);
  CHECK(lone_copies(lowered) == 0);
  CHECK(double(lowered.arena_bytes) <= 0.6 * double(lowered.value_bytes));
  for (const std::string& name : program->implementations()) CHECK(name != "plain");
}

std::map<std::string, Tensor> copies(const Variables& variables) {
  std::map<std::string, Tensor> out;
  for (const auto& [name, tensor] : variables.all()) out[name] = tensor.clone();
  return out;
}

// Names of the variables that differ.
std::string changed(const std::map<std::string, Tensor>& before, const Variables& variables) {
  std::string out;
  for (const auto& [name, tensor] : before)
    if (!same_bits(tensor, variables.at(name))) out += name + " ";
  return out;
}

// Of this process, by their numbers.
std::set<std::string> threads() {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) out.insert(entry.path().filename());
  return out;
}

}  // namespace

TEST_CASE("a step of mnist-small is ten kernels") { check_structure(mnist_small(), 10); }
TEST_CASE("a step of mnist-small with Adam is ten kernels") { check_structure(mnist_adam(), 10); }
TEST_CASE("a step of three layers with batch norm, biases and dropout") { check_structure(three_layers(), 17); }
TEST_CASE("the same in 16 bits casts all weights at once") { check_structure(three_layers(DType::bf16), 18); }

TEST_CASE("a step of a net of images") { check_structure(images(), 20); }

TEST_CASE("fast steps follow the plain ones") {
  const int which = GENERATE(0, 1, 2, 3, 4, 5);
  const Net net = which == 0   ? mnist_small()
                  : which == 1 ? mnist_adam()
                  : which <= 3 ? three_layers(which == 2 ? DType::f32 : DType::f64)
                               : images(which == 4 ? DType::f32 : DType::f64, which - 3);
  const DType dtype = which == 3 || which == 5 ? DType::f64 : DType::f32;
  Variables fast, plain;
  const auto a = net.compile(fast), b = net.compile(plain, {.plain = true});
  a->set_scalar("rate/0", 0.01), b->set_scalar("rate/0", 0.01);
  for (int step = 0; step < 2; ++step) {
    for (Program* program : {a.get(), b.get()}) {
      program->set_scalar("update", step + 1);
      program->run(uint64_t(step));
    }
    // The longest sum is over 784 numbers.
    CHECK(a->output("cost").at(0) == Approx(b->output("cost").at(0)).epsilon(2000 * unit_roundoff(dtype)));
    CHECK(a->output("finite").at(0) == 1);
  }
  for (const auto& [name, tensor] : plain.all()) {
    INFO(name);
    // Adam divides by the root of squares: a weight whose gradient is about 0 may go either way, by the rate.
    const double allowed = which == 1 ? 0.021 : 2000 * unit_roundoff(dtype);
    CHECK(difference(fast.at(name), tensor, allowed) == "");
  }
}

TEST_CASE("steps repeat to the bit, and not because nothing happens") {
  const Net net = three_layers();
  std::map<std::string, Tensor> first;
  for (int round = 0; round < 2; ++round) {
    Variables variables;
    const auto program = net.compile(variables);
    const auto before = copies(variables);
    for (int step = 0; step < 5; ++step) program->run(uint64_t(step));
    if (round == 0) first = copies(variables);
    else CHECK(changed(first, variables) == "");
    // beta of batch norm is the only one that a symmetric start could leave at rest, and it moves, too.
    CHECK(std::ranges::count(changed(before, variables), ' ') == std::ssize(before));
  }
}

TEST_CASE("steps go on with the threads that they began with") {
  // Kernels with work for two threads, for five, for all: a team that left some out would end them.
  for (const Net& net : {three_layers(), images(), images(DType::bf16), modules()}) {
    Variables variables;
    const auto program = net.compile(variables, {.threads = 8});
    program->run(0);
    const auto before = threads();
    CHECK(before.size() >= size_t(std::min(8, team_limit())));  // OMP_THREAD_LIMIT may forbid such a team
    for (int step = 1; step < 4; ++step) program->run(uint64_t(step));
    CHECK(threads() == before);
  }
}

TEST_CASE("what is not finite changes no variable") {
  const std::string where =
      GENERATE("Affine_0/W", "Affine_1/W", "Affine_2/W", "Affine_1_bias/b", "Affine_0_bnorm/gamma");
  const double what = GENERATE(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity());
  const DType dtype = GENERATE(DType::f32, DType::bf16, DType::f16);
  if (std::isinf(what) && where == "Affine_1_bias/b") return;  // tanh makes 1 of it, and all is well
  INFO(where << " is " << what << " in " << std::string(name_of(dtype)));
  const Net net = three_layers(dtype);
  Variables variables;
  const auto program = net.compile(variables);
  for (int64_t i = 0; i < variables.at(where).elements(); ++i) variables.at(where).set(i, what);
  const auto before = copies(variables);
  program->run(0);
  CHECK(program->output("finite").at(0) == 0);
  CHECK(changed(before, variables) == "");
}

TEST_CASE("one broken weight behind a relu is noticed") {
  const Net net = mnist_small();
  Variables variables;
  const auto program = net.compile(variables);
  variables.at("Affine_0/W").set(5, std::numeric_limits<double>::quiet_NaN());
  program->run(0);
  CHECK(program->output("finite").at(0) == 0);
}

TEST_CASE("numbers of the step record reach their kernels") {
  const Net net = mnist_small();
  Variables variables;
  const auto program = net.compile(variables);
  program->run(0);
  const auto before = copies(variables);
  // Without a rate only the velocity moves the weights: v = 0.9 v, w += v.
  program->set_scalar("rate/0", 0);
  program->run(1);
  for (const char* name : {"Affine_0/W", "Affine_1/W"}) {
    const Tensor &w = before.at(name), &v = before.at(std::string(name) + "/velocity");
    for (int64_t i = 0; i < w.elements(); i += 97)
      CHECK(variables.at(name).at(i) == Approx(w.at(i) + 0.9 * v.at(i)).epsilon(1e-6).margin(1e-9));
  }
}

TEST_CASE("a batch of one") {
  const Net net = images(DType::f32, 1, 1);
  Variables fast, plain;
  const auto a = net.compile(fast), b = net.compile(plain, {.plain = true});
  a->run(0), b->run(0);
  CHECK(a->output("cost").at(0) == Approx(b->output("cost").at(0)).epsilon(1e-5));
}
