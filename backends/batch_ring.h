// Batches on their way to programs that do not fit in memory all at once: a few slots, which threads of the host fill
// and runs of a device read, one after the other. A graph sees an input of the ring as one array, the slots one below
// the other; what it gathers by `indices` says which slot a run reads.
//
// A slot is filled, sent, read by the next run of a program that the ring is bound to, and filled again once it is
// free. On a GPU the host's slots are pinned and have twins there: what is sent is copied beside the runs under way.
#pragma once
#include <memory>

#include "backends/program.h"

namespace neon {

struct RingInput {
  std::string name;
  size_t slot_bytes = 0;
  // The graph's input is one slot: a run reads the rows from set_first() on, as of Program::bind_sequence().
  bool is_sequence = false;
};

class BatchRing {
 public:
  virtual ~BatchRing() = default;
  // The host's memory of an input's slot. The slots of an input follow each other.
  virtual void* slot(size_t input, int number) = 0;
  // The runs of the program read their inputs of these names here.
  virtual void bind(Program& program) = 0;
  // The next run reads what is in the slot now.
  virtual void send(int slot) = 0;
  // Whether the host may write to a slot that was sent; with `waits`, once it may.
  virtual bool is_free(int slot, bool waits) = 0;
  // Whether the device has done all runs: it waits for nothing but data.
  virtual bool is_idle() = 0;
};

// For programs of the CPU, whose runs are over when they return.
std::unique_ptr<BatchRing> make_host_ring(std::vector<RingInput> inputs, int slots);

}  // namespace neon
