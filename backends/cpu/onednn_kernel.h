// A kernel that is one oneDNN primitive: f32 as it is, bf16 where the processor has it, otherwise 16-bit types by way
// of f32 (oneDNN 2 has no f16). Arrays that the primitive wants in a layout of its own (weights) are brought into it
// and back; of weights that this program does not write, this is kept from run to run. The relu after it is ours, in
// place: oneDNN's makes 0 of NaN, and a net with a broken weight would train on unnoticed. The primitive and its
// arguments are made once.
#pragma once
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>

#include "backends/cpu/operand.h"

namespace neon::cpu {

class OnednnKernel : public Kernel {
 public:
  void run(const Run& run) override;
  std::string implementation() const override { return name_; }

 protected:
  using memory = dnnl::memory;
  // `type` is the primitive's, f32 or bf16.
  OnednnKernel(const LoweredKernel& kernel, Context& context, memory::data_type type)
      : context_(context), relu_(kernel.relu()), threads_(context.threads), type_(type) {}
  memory::data_type type() const { return type_; }

  // Scratch memory is this kernel's.
  static dnnl::primitive_attr attributes();
  void set_primitive(const dnnl::primitive& primitive, const dnnl::primitive_desc_base& description);
  // An argument that lies in memory as `own` says; the primitive takes it as `wanted`.
  void read(int argument, Value value, const memory::desc& own, const memory::desc& wanted) {
    add(argument, value, own, wanted, false);
  }
  void write(int argument, Value value, const memory::desc& own, const memory::desc& wanted) {
    add(argument, value, own, wanted, true);
  }
  // An argument whose memory is the kernel's own affair.
  void take(int argument, const memory& array) { arguments_.push_back({argument, array.get()}); }

 private:
  struct Argument {
    Operand array;
    memory own, wanted;     // the same where no reordering is needed
    size_t reordered;       // where `wanted` begins in the scratch memory, where it is another
    Tensor kept;            // or its own memory
    dnnl::reorder reorder;  // from own to wanted, or back for what is written
    dnnl_exec_arg_t reordering[3];
    int reordering_count = 0;  // 0: none
    bool written;
  };
  void add(int argument, Value value, const memory::desc& own, const memory::desc& wanted, bool written);
  void add_reorder(Argument& argument, const memory::desc& wanted, bool fixed);
  // The memory that a primitive works in, or null.
  dnnl_memory_t scratch_for(const dnnl::primitive_desc_base& description);

  Context& context_;
  bool relu_;
  int threads_;
  memory::data_type type_;
  dnnl::primitive primitive_;
  std::string name_;
  std::vector<std::unique_ptr<Argument>> operands_;
  std::vector<std::pair<Tensor, memory>> scratch_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace neon::cpu
