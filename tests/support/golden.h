// What the golden tests share: reading the JSON files that tools/golden makes (JSON is YAML), running a graph in each
// arithmetic, and comparing.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "backends/graph/expression.h"
#include "backends/program.h"
#include "neon/core/registry.h"

namespace neon_test {

// The cases of a file; an array in them is {shape: [...], values: [...]}. The file is in the tree that the test was
// built from, or, on a machine that has only a copy of it, in the folder that NEON_GOLDEN names: its `tests`.
neon::Setting golden(const std::string& path);

const neon::Setting& at(const neon::Setting& map, const std::string& key);  // fails the test when it is missing
double number_of(const neon::Setting& scalar);
std::vector<double> numbers(const neon::Setting& list);
neon::Shape shape_of(const neon::Setting& array);
// {shape, values}, or {shape, fill: number}, or {shape, drawn: seed, scale}: uniform in [-scale, scale), by a formula.
neon::Tensor tensor_of(const neon::Setting& array, neon::DType dtype);
// An object of a spec as the files write it; quotes mean nothing in JSON.
neon::Setting object_of(neon::Setting from);
// {Name: {...}} or Name: its name.
std::string name_of(const neon::Setting& object);

// How a graph is run. The plain kernels are those that everything else is tested against.
struct Arithmetic {
  const char* name;
  neon::DType dtype;
  neon::ProgramOptions options = {};
  bool gpu = false;
};
// The CPU's, or those that were set.
const std::vector<Arithmetic>& arithmetics();

using Compile = std::unique_ptr<neon::Program>(const neon::Graph&, neon::Variables&, const Arithmetic&);
// For a program whose cases "[device]" are run elsewhere than on the CPU.
void set_arithmetics(std::vector<Arithmetic> all, Compile* compile);
std::unique_ptr<neon::Program> compiled(const neon::Graph& graph, neon::Variables& variables,
                                        const Arithmetic& arithmetic);

// |got - expected| <= roundings u (|expected| + scale), u the unit roundoff of the type of `got`: each of the roundings
// on the way to an element may be relative to it or to what it was made from, numbers up to `scale`; 0: up to the
// largest expected. Of {shape, every: n, values} every nth element is compared.
void check_close(const neon::Tensor& got, const neon::Setting& expected, double roundings, double scale = 0);
void check_close(double got, double expected, double tolerance);

// A graph from a file's arrays, run once.
class GraphRun {
 public:
  explicit GraphRun(const Arithmetic& arithmetic) : arithmetic_(arithmetic) {}
  neon::Graph graph;
  neon::Variables variables;
  neon::DType dtype() const { return arithmetic_.dtype; }
  // The array as a variable of the graph, so that gradients can be taken by it.
  neon::Expr value(const std::string& name, const neon::Setting& array);
  void run(uint64_t step = 1);
  neon::Tensor output(const std::string& name) const { return program_->output(name); }
  neon::Program& program() { return *program_; }

 private:
  const Arithmetic& arithmetic_;
  std::vector<std::pair<std::string, neon::Tensor>> given_;
  std::unique_ptr<neon::Program> program_;
};

// Names in a category that neither a case of the file covers, by the objects under `key`, nor another test.
std::vector<std::string> uncovered(const std::string& category, const neon::Setting& cases, const std::string& key,
                                   const std::vector<std::string>& tested_elsewhere = {});

// One object of each golden case, written back with every default and read again: the texts of both.
template <typename T>
std::pair<std::string, std::string> round_trip(const neon::Setting& object) {
  neon::Problems problems;
  neon::Setting first, second;
  neon::Registry<T>::get().create(object, problems, &first);
  problems.throw_if_any();
  neon::Registry<T>::get().create(first, problems, &second);
  problems.throw_if_any();
  return {first.to_string(), second.to_string()};
}

neon::Setting yaml_of(const std::string& text);

// Everything said against an object; "" when it is made.
template <typename T>
std::string complaint(const std::string& yaml) {
  neon::Problems problems;
  neon::Setting from = yaml_of(yaml);
  const auto made = neon::Registry<T>::get().create(from, problems);
  return made ? "" : neon::join(problems.lines(), "\n");
}

}  // namespace neon_test
