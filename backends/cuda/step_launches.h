// How runs of a program are sent off: as graphs of several, or kernel by kernel.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "backends/cuda/marks.h"
#include "backends/cuda/program_kernels.h"
#include "backends/cuda/result_ring.h"
#include "backends/cuda/step_record.h"

namespace neon::cuda {

class StepLaunches {
 public:
  StepLaunches(const ProgramKernels& kernels, const ProgramMemory& memory, const StepRecord& record,
               const ResultRing& ring, std::shared_ptr<Engine> engine)
      : kernels_(kernels), memory_(memory), record_(record), ring_(ring), engine_(std::move(engine)) {}
  ~StepLaunches() { drop_graphs(); }
  StepLaunches(const StepLaunches&) = delete;
  StepLaunches& operator=(const StepLaunches&) = delete;

  // Makes the kept values of variables that others have written, before the runs that read these values.
  void run_once() const;
  // Sends all waiting runs off.
  void send();
  // A graph holds addresses, so all graphs go when one changes.
  void drop_graphs();
  // Sends the next runs kernel by kernel: recording a graph pays when it is launched again.
  void note_moved() { moved_ = true; }

  // From now on each run notes how long every kernel takes.
  void time_kernels(bool on) { marks_ = on ? std::make_unique<Marks>(kernels_.size() + 1) : nullptr; }
  // The marks around every kernel; null: kernels are not timed.
  const Marks* marks() const { return marks_.get(); }

 private:
  void launch_kernels(int row) const;
  CUgraphExec graph_of(int runs);

  const ProgramKernels& kernels_;
  const ProgramMemory& memory_;
  const StepRecord& record_;
  const ResultRing& ring_;
  std::shared_ptr<Engine> engine_;
  std::map<int, CUgraphExec> graphs_;  // by number of runs
  std::unique_ptr<Marks> marks_;
  bool moved_ = false;  // an address has changed since the last launch
};

}  // namespace neon::cuda
