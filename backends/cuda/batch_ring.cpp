#include "backends/cuda/batch_ring.h"

#include <cstring>

#include "backends/cuda/program.h"

namespace neon::cuda {

CudaRing::CudaRing(std::vector<RingInput> inputs, int slots, std::shared_ptr<Engine> engine)
    : engine_(std::move(engine)), inputs_(std::move(inputs)), events_(size_t(slots)) {
  const Device& device = *engine_->device;
  device.make_current();
  try {
    check(cuStreamCreate(&copies_, CU_STREAM_NON_BLOCKING), "making a stream for copies");
    for (Events& events : events_) {
      // The host waits for a copy asleep: its cores are for decoding.
      check(cuEventCreate(&events.copied, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC), "making an event");
      check(cuEventCreate(&events.read, CU_EVENT_DISABLE_TIMING), "making an event");
    }
    for (const RingInput& input : inputs_) {
      const size_t bytes = input.slot_bytes * size_t(slots);
      pinned_.emplace_back(engine_->device, bytes, "batches of " + input.name);
      std::memset(pinned_.back().data(), 0, bytes);
      memories_.push_back(std::make_shared<Memory>(engine_->device, bytes, "batches of " + input.name));
    }
    // The memory is cleared by the stream of the runs, which the copies do not wait for.
    device.wait("clearing GPU memory");
  } catch (...) {
    release();
    throw;
  }
}

CudaRing::~CudaRing() {
  for (CudaProgram* program : programs_) program->leave_ring();
  release();
}

void CudaRing::release() noexcept {
  engine_->device->use();
  cuStreamSynchronize(copies_);
  for (const Events& events : events_)
    for (CUevent event : {events.copied, events.read})
      if (event) cuEventDestroy(event);
  if (copies_) cuStreamDestroy(copies_);
}

void* CudaRing::slot(size_t input, int number) {
  return pinned_[input].data() + size_t(number) * inputs_[input].slot_bytes;
}

std::shared_ptr<Memory> CudaRing::memory(const std::string& input) const {
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].name == input) return memories_[i];
  return nullptr;
}

void CudaRing::bind(Program& program) {
  CudaProgram& own = static_cast<CudaProgram&>(program);
  own.bind_ring(this);
  programs_.insert(&own);
}

// An event that was never recorded is waited for by nobody.
void CudaRing::send(int slot) {
  engine_->device->make_current();
  const Events& events = events_[size_t(slot)];
  check(cuStreamWaitEvent(copies_, events.read, CU_EVENT_WAIT_DEFAULT), "waiting for a run");
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const size_t bytes = inputs_[i].slot_bytes;
    check(cuMemcpyHtoDAsync(memories_[i]->address() + size_t(slot) * bytes, this->slot(i, slot), bytes, copies_),
          "copying a batch to the GPU");
  }
  check(cuEventRecord(events.copied, copies_), "marking a copy");
  sent_ = slot;
}

void CudaRing::before_run() {
  NEON_ASSERT(sent_ >= 0);
  check(cuStreamWaitEvent(engine_->device->stream(), events_[size_t(sent_)].copied, CU_EVENT_WAIT_DEFAULT),
        "waiting for a batch");
}

void CudaRing::after_run() {
  check(cuEventRecord(events_[size_t(sent_)].read, engine_->device->stream()), "marking a run");
  last_read_ = sent_;
}

bool CudaRing::is_free(int slot, bool waits) {
  engine_->device->make_current();
  const CUevent copied = events_[size_t(slot)].copied;
  if (waits) check(cuEventSynchronize(copied), "waiting for a copy to the GPU");
  const CUresult result = cuEventQuery(copied);
  if (result == CUDA_ERROR_NOT_READY) return false;
  check(result, "asking for a copy to the GPU");
  return true;
}

bool CudaRing::is_idle() {
  if (last_read_ < 0) return true;
  engine_->device->make_current();
  const CUresult result = cuEventQuery(events_[size_t(last_read_)].read);
  if (result == CUDA_ERROR_NOT_READY) return false;
  check(result, "asking for a run");
  return true;
}

}  // namespace neon::cuda
