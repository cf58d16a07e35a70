// Where samples are while a run goes on: held in memory, the GPU's too, or read from files.
#pragma once
#include <string>

#include "neon/core/params.h"

namespace neon {

struct Data;
struct DataCheck;
struct DataContext;

// The parameters that all sets with samples to stream share.
struct StreamParams {
  std::string stream = "auto";
  static void describe(auto&& p) {
    p("stream", &StreamParams::stream,
      "Whether samples are read while the run goes on (true), or all before it and held in memory (false); auto: where "
      "they would take more than memory_share. Batches are the same, but where on_bad_sample: skip finds bad images.",
      one_of({"auto", "true", "false"}));
  }
};

// Why samples cannot be streamed, "" where they can, and how to mend that.
struct HeldReason {
  std::string why, mend;
};

// Whether samples are streamed that take so many bytes and may take such a share of the memory. If they must be held,
// stream: true is a config error, and a warning says that auto would have streamed.
bool is_streamed(const StreamParams& params, double bytes, double memory_share, const HeldReason& held,
                 const DataContext& context);

// Bytes of the samples that are held in memory, or would be.
double held_bytes(const Data& data);
double held_bytes(const DataCheck& check);

// Throws a memory error that names the source if these bytes exceed the free memory.
void check_room_to_hold(double bytes, const std::string& source, bool may_stream = true);

}  // namespace neon
