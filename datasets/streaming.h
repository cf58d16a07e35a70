// Whether samples are held in memory or read while the run goes on.
#pragma once
#include <string>

#include "neon/core/params.h"

namespace neon {

struct DataContext;

// What sets share whose samples can be streamed.
struct StreamParams {
  std::string stream = "auto";
  double memory_share = 0.5;
  static void describe(auto&& p) {
    p("stream", &StreamParams::stream,
      "Whether samples are read while the run goes on (true), or all before it and held in memory (false); auto: where "
      "they would take more than memory_share. Batches are the same, but where on_bad_sample: skip finds bad images.",
      one_of({"auto", "true", "false"}));
    p("memory_share", &StreamParams::memory_share,
      "Share of the free memory, and of a GPU's, that samples may take before they are streamed.", open_closed(0, 1));
  }
};

// Of samples that take so many bytes in memory. `only_in_order` says why they cannot be read in any order; "": they
// can. Where they cannot, stream: true is a config error, and a warning says that auto would have streamed.
bool is_streamed(const StreamParams& params, double bytes, const std::string& only_in_order,
                 const DataContext& context);

// What is held in memory must fit in what is free of it: a memory error that names the source where it does not.
void check_room_to_hold(double bytes, const std::string& source);

}  // namespace neon
