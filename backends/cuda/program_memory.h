// Where the values of a program on the GPU lie: variables, inputs, results that are read later, and all others in a
// share of the scratch memory.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/engine.h"
#include "backends/graph/plan.h"

namespace neon::cuda {

class ProgramMemory {
 public:
  struct Input {
    Value value;
    std::shared_ptr<Memory> memory;
    const void* host = nullptr;
  };

  ProgramMemory(Lowered& lowered, std::shared_ptr<Engine> engine) : lowered_(lowered), engine_(std::move(engine)) {}

  // Finds the inputs. Variables get their copies on the GPU, unless callers bind memory of their own.
  void place_leaves(Variables& variables, bool callers_memory);
  // Fails early if the values find no room whatever is chosen. To compile kernels and time algorithms first would take
  // minutes with arrays of that size.
  void expect_room() const;
  // Takes memory for the values of a step and for the kernels' workspaces, of so many bytes each.
  void place_values(const std::vector<size_t>& workspaces);
  // Whether the scratch memory has moved since the addresses were set.
  bool has_moved() const { return scratch_moves_ != engine_->scratch.moves(); }
  // Sets addresses in the memory of values as it is now.
  void find_values();

  Input* find_input(const std::string& name);
  std::map<std::string, Input>& inputs() { return inputs_; }
  // Gives an input that memory.
  void set(Input& input, std::shared_ptr<Memory> memory);
  // The addresses of all inputs and variables of that name.
  std::vector<void**> slots_of(const std::string& leaf);

  bool is_placed(Value value) const { return slot(value) != nullptr; }
  // Fails if the value is of an input that is not bound.
  void* address(Value value) const;
  void* workspace(size_t kernel) const { return scratch_ + places_.workspaces[kernel]; }

 private:
  void* slot(Value value) const { return slots_[size_t(lowered_.storage[size_t(value.id)].id)]; }

  Lowered& lowered_;
  std::shared_ptr<Engine> engine_;
  SharedPlaces places_;
  std::optional<ScratchShare> share_;  // for values of a run, and what libraries work in
  std::byte* scratch_ = nullptr;
  int64_t scratch_moves_ = 0;  // the move whose addresses slots_ have
  Memory kept_;
  std::vector<void*> slots_;  // by storage value
  std::map<std::string, Input> inputs_;
};

}  // namespace neon::cuda
