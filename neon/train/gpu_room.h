// The memory of a GPU that programs take, and how many samples would fit where it is too much.
#pragma once
#include <functional>

#include "neon/train/batch_feed.h"
#include "neon/train/experiment.h"

namespace neon {

// Bytes of a GPU, added up in the order in which they are taken: arrays to time algorithms on have gone before a
// program's values and the data come.
class GpuNeeds {
 public:
  explicit GpuNeeds(const DeviceOptions& options);
  // With what each program of a feed takes. `own_variables`: those that no program before it has. Without `chooses` its
  // algorithms are not timed, whatever the options say.
  void add_program(const Graph& graph, size_t own, bool own_variables, bool chooses);
  // The evaluation of a set, with its feed.
  void add_evaluation(const Experiment& experiment, const DataLayout& layout, const Split& split, StepOptions options,
                      bool own_variables);
  void hold(size_t bytes) { held_ += bytes; }
  size_t bytes() const;

 private:
  DeviceOptions options_;
  size_t held_ = 0, shared_ = 0, most_ = 0;
};

// The request that found no room.
struct RoomAsked {
  std::string what = "Steps";  // of so many samples
  std::string of = "data, weights and values";
  int64_t samples = 0;
  const char* option = "-z ";            // that takes fewer; "" where none does
  std::function<size_t(int64_t)> bytes;  // that so many samples take
};
// ". Steps of 512 samples plan 3.0 GiB ... about 300 samples would fit (-z 300)", to follow the error. The free
// memory must then be all there is.
std::string room_text(const RoomAsked& asked, const DeviceOptions& device);

// What `make` makes. Where a GPU has no room for it `let_go` frees what is there, and the error says what would fit.
auto telling_room(const DeviceOptions& device, auto&& make, auto&& let_go, const RoomAsked& asked) {
  try {
    return make();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::memory || !device.gpu) throw;
    let_go();
    fail(ErrorKind::memory, error.what(), room_text(asked, device));
  }
}

}  // namespace neon
