// Slots of batches in pinned memory, their twins on the GPU, and a stream of its own that copies one to the other.
//
//   copies  ── wait for the run that last read the twin ── copy ── event `copied` ──▶
//   runs    ──────────────────────────────── wait for `copied` ── step ── event `read` ──▶
//
// So the copy of a batch runs beside the step before, and sending and running wait for nothing. The host writes to a
// slot again once `copied` has come, which is_free may wait for, asleep.
#pragma once
#include <set>

#include "backends/batch_ring.h"
#include "backends/cuda/engine.h"

namespace neon::cuda {

class CudaRing : public BatchRing {
 public:
  CudaRing(std::vector<RingInput> inputs, int slots, std::shared_ptr<Engine> engine);
  ~CudaRing() override;
  CudaRing(const CudaRing&) = delete;

  void* slot(size_t input, int number) override;
  void bind(Program& program) override;
  void send(int slot) override;
  bool is_free(int slot, bool waits) override;
  bool is_idle() override;

  // Memory of an input on the GPU; null if the ring lacks the input.
  std::shared_ptr<Memory> memory(const std::string& input) const;
  // Around the launch of a run: it begins behind the copy of what was sent last.
  void before_run();
  void after_run();
  void leave(CudaProgram* program) { programs_.erase(program); }

 private:
  struct Events {
    CUevent copied = nullptr, read = nullptr;
  };
  void release() noexcept;

  std::shared_ptr<Engine> engine_;
  const std::vector<RingInput> inputs_;
  std::vector<Pinned> pinned_;                     // by input
  std::vector<std::shared_ptr<Memory>> memories_;  // by input
  std::vector<Events> events_;                     // by slot
  CUstream copies_ = nullptr;
  int sent_ = -1, last_read_ = -1;  // slots
  std::set<CudaProgram*> programs_;
};

}  // namespace neon::cuda
