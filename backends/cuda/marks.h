// Points in a stream whose times the device notes, also where what is sent off is a recorded graph.
#pragma once
#include <vector>

#include "backends/cuda/driver.h"

namespace neon::cuda {

class Marks {
 public:
  explicit Marks(size_t count) : events_(count) {
    for (CUevent& event : events_) check(cuEventCreate(&event, CU_EVENT_DEFAULT), "timing kernels");
  }
  ~Marks() {
    for (CUevent event : events_)
      if (event) cuEventDestroy(event);
  }
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;

  void set(size_t i, CUstream stream) const {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    check(cuStreamIsCapturing(stream, &status), "timing kernels");
    const bool recorded = status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    check(cuEventRecordWithFlags(events_[i], stream, recorded ? CU_EVENT_RECORD_EXTERNAL : CU_EVENT_RECORD_DEFAULT),
          "timing kernels");
  }

  // Milliseconds from each to the next, once all that was sent off is done.
  std::vector<double> between() const {
    std::vector<double> out;
    for (size_t i = 1; i < events_.size(); ++i) {
      float took = 0;
      check(cuEventElapsedTime(&took, events_[i - 1], events_[i]), "timing kernels");
      out.push_back(double(took));
    }
    return out;
  }

 private:
  std::vector<CUevent> events_;
};

}  // namespace neon::cuda
