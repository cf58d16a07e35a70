#include "tests/support/golden.h"

#include <catch2/catch.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "neon/spec/yaml.h"

using namespace neon;

namespace neon_test {

Setting golden(const std::string& path) {
  const char* folder = std::getenv("NEON_GOLDEN");
  return read_yaml_file(text(folder ? folder : GOLDEN_FOLDER, "/", path));
}

const Setting& at(const Setting& map, const std::string& key) {
  const Setting* found = map.find(key);
  INFO("key " << key);
  REQUIRE(found);
  return *found;
}

double number_of(const Setting& scalar) {
  double out = 0;
  const char* end = scalar.value.data() + scalar.value.size();
  REQUIRE(std::from_chars(scalar.value.data(), end, out).ptr == end);
  return out;
}

std::vector<double> numbers(const Setting& list) {
  std::vector<double> out;
  for (const Setting& item : list.items) out.push_back(number_of(item));
  return out;
}

Shape shape_of(const Setting& array) {
  std::vector<int64_t> sizes;
  for (double size : numbers(at(array, "shape"))) sizes.push_back(int64_t(size));
  return Shape(sizes);
}

namespace {

// Element i of an array drawn from `seed`, in [-1, 1); as tools/golden/make_golden_nets.py says.
double drawn(uint32_t seed, uint32_t i) {
  uint32_t x = i * 0x9E3779B1u + seed * 0x27D4EB2Fu;
  x = (x ^ (x >> 15)) * 0x85EBCA77u;
  x = (x ^ (x >> 13)) * 0xC2B2AE3Du;
  x ^= x >> 16;
  return double(x >> 16) / 32768 - 1;
}

}  // namespace

Tensor tensor_of(const Setting& array, DType dtype) {
  Tensor out(dtype, shape_of(array));
  if (const Setting* fill = array.find("fill")) {
    for (int64_t i = 0; i < out.elements(); ++i) out.set(i, number_of(*fill));
    return out;
  }
  if (const Setting* seed = array.find("drawn")) {
    const double scale = number_of(at(array, "scale"));
    for (int64_t i = 0; i < out.elements(); ++i) out.set(i, scale * drawn(uint32_t(number_of(*seed)), uint32_t(i)));
    return out;
  }
  const std::vector<double> values = numbers(at(array, "values"));
  REQUIRE(int64_t(values.size()) == out.elements());
  for (int64_t i = 0; i < out.elements(); ++i) out.set(i, values[size_t(i)]);
  return out;
}

Setting object_of(Setting from) {
  from.quoted = false;
  for (Setting& item : from.items) item = object_of(item);
  for (auto& entry : from.entries) entry.value = object_of(entry.value);
  return from;
}

std::string name_of(const Setting& object) { return object.is_map() ? object.entries.front().key : object.value; }

namespace {

std::vector<Arithmetic>& chosen_arithmetics() {
  static std::vector<Arithmetic> all = {{"f64, plain kernels", DType::f64, {.threads = 1, .plain = true}},
                                        {"f64, fused", DType::f64, {.threads = 1}},
                                        {"f32, fused", DType::f32, {.threads = 1}},
                                        {"f32, stored", DType::f32, {.threads = 1, .without = LowerPass::remake}},
                                        {"f32, a kernel each", DType::f32, {.threads = 1, .fuse = false}}};
  return all;
}

std::unique_ptr<Program> compiled_for_cpu(const Graph& graph, Variables& variables, const Arithmetic& arithmetic) {
  return compile_for_cpu(graph, variables, arithmetic.options);
}

Compile* chosen_compile = compiled_for_cpu;

}  // namespace

const std::vector<Arithmetic>& arithmetics() { return chosen_arithmetics(); }

void set_arithmetics(std::vector<Arithmetic> all, Compile* compile) {
  chosen_arithmetics() = std::move(all);
  chosen_compile = compile;
}

std::unique_ptr<Program> compiled(const Graph& graph, Variables& variables, const Arithmetic& arithmetic) {
  return chosen_compile(graph, variables, arithmetic);
}

void check_close(const Tensor& got, const Setting& expected, double roundings, double scale) {
  REQUIRE(got.shape().to_string() == shape_of(expected).to_string());
  const std::vector<double> want = numbers(at(expected, "values"));
  if (scale == 0)
    for (double x : want) scale = std::max(scale, std::fabs(x));
  const int64_t every = expected.find("every") ? int64_t(number_of(at(expected, "every"))) : 1;
  REQUIRE(int64_t(want.size()) == (got.elements() + every - 1) / every);
  for (int64_t i = 0; i < got.elements(); i += every) {
    const double x = want[size_t(i / every)], error = std::fabs(got.at(i) - x);
    const double allowed = roundings * unit_roundoff(got.dtype()) * (std::fabs(x) + scale);
    if (error <= allowed) continue;
    FAIL_CHECK(text("element ", i, " is ", got.at(i), ", expected ", x, ": off by ", error, ", allowed ", allowed));
    return;
  }
  SUCCEED();
}

void check_close(double got, double expected, double tolerance) {
  if (std::fabs(got - expected) <= tolerance) SUCCEED();
  else FAIL_CHECK(text(got, ", expected ", expected, ": off by ", std::fabs(got - expected), ", allowed ", tolerance));
}

Expr GraphRun::value(const std::string& name, const Setting& array) {
  given_.emplace_back(name, tensor_of(array, dtype()));
  return {graph, graph.variable(name, dtype(), shape_of(array))};
}

void GraphRun::run(uint64_t step) {
  if (!program_) {
    for (const auto& [name, tensor] : given_)
      std::memcpy(variables.declare(name, tensor.dtype(), tensor.shape()).data(), tensor.data(), tensor.bytes());
    program_ = compiled(graph, variables, arithmetic_);
    variables.to_device();
  }
  program_->run(step);
  variables.to_host();
}

std::vector<std::string> uncovered(const std::string& category, const Setting& cases, const std::string& key,
                                   const std::vector<std::string>& tested_elsewhere) {
  std::set<std::string> covered(tested_elsewhere.begin(), tested_elsewhere.end());
  for (const Setting& one : cases.items)
    if (const Setting* object = one.find(key)) covered.insert(name_of(*object));
  std::vector<std::string> out;
  for (const Category& each : categories())
    for (const EntryInfo* entry : each.entries)
      if (each.name == category && !covered.count(entry->name)) out.push_back(entry->name);
  if (!out.empty()) UNSCOPED_INFO("each needs a row in tools/golden; see 'Adding things' in CONTRIBUTING.md");
  return out;
}

Setting yaml_of(const std::string& text) {
  Setting out = read_yaml_text(text, "spec.yaml");
  out.set_paths("");
  return out;
}

}  // namespace neon_test
