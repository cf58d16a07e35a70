#include "backends/batch_ring.h"

namespace neon {

namespace {

class HostRing : public BatchRing {
 public:
  HostRing(std::vector<RingInput> inputs, int slots) : inputs_(std::move(inputs)) {
    for (const RingInput& input : inputs_) arrays_.emplace_back(DType::u8, Shape{int64_t(input.slot_bytes) * slots});
  }
  void* slot(size_t input, int number) override {
    return static_cast<std::byte*>(arrays_[input].data()) + size_t(number) * inputs_[input].slot_bytes;
  }
  void bind(Program& program) override {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].is_sequence) program.bind_sequence(inputs_[i].name, arrays_[i].data(), -1);
      else program.bind(inputs_[i].name, arrays_[i].data());
    }
  }
  void send(int) override {}
  bool is_free(int, bool) override { return true; }
  bool is_idle() override { return true; }

 private:
  const std::vector<RingInput> inputs_;
  std::vector<Tensor> arrays_;
};

}  // namespace

std::unique_ptr<BatchRing> make_host_ring(std::vector<RingInput> inputs, int slots) {
  return std::make_unique<HostRing>(std::move(inputs), slots);
}

}  // namespace neon
