#include "backends/cpu/kernel.h"

#include <algorithm>

#include "backends/cpu/plain.h"
#include "backends/graph/op.h"

namespace neon::cpu {

namespace {

struct Entry {
  int preference;
  Maker maker;
};

std::map<std::string, std::vector<Entry>, std::less<>>& table() {
  static std::map<std::string, std::vector<Entry>, std::less<>> entries;
  return entries;
}

std::map<std::string, WrittenOver, std::less<>>& written_over() {
  static std::map<std::string, WrittenOver, std::less<>> entries;
  return entries;
}

// Any op by its plain function.
class PlainKernel : public Kernel {
 public:
  PlainKernel(const LoweredKernel& kernel, Context& context, PlainFunction function) : function_(function) {
    node_.op = kernel.op;
    node_.attributes = kernel.attributes;
    for (Value value : kernel.inputs) inputs_.push_back({context.type(value), context.slot(value)});
    for (Value value : kernel.outputs) outputs_.push_back({context.type(value), context.slot(value)});
  }
  void run(const Run& run) override {
    PlainArguments arguments{node_, {}, {}, run.step};
    auto wrap = [](const Operand& o) { return Tensor::wrap(o.type.dtype, o.type.shape, {}, *o.slot); };
    for (const Operand& o : inputs_) arguments.inputs.push_back(wrap(o));
    for (const Operand& o : outputs_) arguments.outputs.push_back(wrap(o));
    function_(arguments);
  }
  std::string implementation() const override { return "plain"; }

 private:
  struct Operand {
    TensorType type;
    void** slot;
  };
  Node node_;
  std::vector<Operand> inputs_, outputs_;
  PlainFunction function_;
};

}  // namespace

void add_kernel(std::string_view op, int preference, Maker maker) {
  auto& entries = table()[std::string(op)];
  entries.push_back({preference, maker});
  std::ranges::stable_sort(entries, {}, &Entry::preference);
}

void write_over(std::string_view op, WrittenOver written) { written_over().emplace(op, written); }

int operand_written_over(const LoweredKernel& kernel, size_t result) {
  const auto found = written_over().find(kernel.name());
  return found != written_over().end() && found->second.result == result ? found->second.operand : -1;
}

std::unique_ptr<Kernel> make_kernel(const LoweredKernel& kernel, Context& context) {
  if (const auto found = table().find(kernel.name()); found != table().end())
    for (const Entry& entry : found->second) {
      context.scratch.begin();
      if (auto made = entry.maker(kernel, context)) {
        context.scratch.keep();
        return made;
      }
    }
  const PlainFunction function = kernel.op ? find_plain(*kernel.op) : nullptr;
  if (!function || !kernel.attachments.empty())
    fail(ErrorKind::failed, "op ", kernel.name(), " has no kernel on the CPU");
  return std::make_unique<PlainKernel>(kernel, context, function);
}

bool has_kernel(const Op& op) { return table().count(op.name) > 0; }

}  // namespace neon::cpu
