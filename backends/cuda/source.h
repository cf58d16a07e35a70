// CUDA C++ for a fused kernel, to be compiled by NVRTC.
//
// The elements of a segment are groups × reduced: one group for every index of the kept axes, and in it one element
// for every index of the reduced axes. A group is worked on by some lanes of a block: neighbouring threads where the
// reduced axes trail, threads a tile of groups apart where kept ones follow them, one thread where nothing is
// reduced. Numbers that follow from a reduction need another walk over the group's elements; what was computed in
// the first is kept in registers where it fits. Neighbouring elements are taken several at once, as wide as a load
// goes, and tall columns are shared by blocks: the last of them puts the parts together, or, where another walk
// follows, all of them wait for each other and every one does. Totals are folded per block, then by the last block
// to finish, always in the same order.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/graph/lower.h"

namespace neon::cuda {

// A kernel of generated source takes these arguments, in order: the arrays, then
//   State* state, const u64* record, double* ring, R* partials, u32* ticket
struct Source {
  std::string text;           // with prelude; the kernel is called "kernel"
  std::vector<Value> arrays;  // storage values whose addresses are the first parameters
  int64_t blocks = 1;
  size_t partial_bytes = 0;  // of the space for partial results
  int tickets = 1;           // counters of blocks that arrived, 0 between kernels
  int64_t shared_bytes = 0;  // of shared memory, beside what the text declares by size
};

// The step record is a row of 64-bit words: place in the ring, step, first row of inputs bound as sequences, then the
// scalars as doubles.
constexpr int kRecordRing = 0, kRecordStep = 1, kRecordFirst = 2, kRecordScalars = 3;

// The GPU that texts are written for where none is given, as in tests.
constexpr int kUsualProcessors = 64, kUsualArch = 90;
constexpr int kLeastTensorArch = 80;  // whose tensor cores take bf16 and TF32, too

// The facts of the program that the text of a kernel needs.
struct SourceContext {
  const Lowered& lowered;
  std::map<std::string, int>& scalars;  // of the record, numbered as they are met
  std::map<int, int> recorded;          // by value: first place in a row of the ring, of small outputs
  int ring_width = 0;                   // doubles in a row of the ring
  std::set<int> sequences;              // inputs of which each run reads rows from the record's first on
  Value finite;                         // output that, once 0, keeps all later runs from writing variables
  int processors = kUsualProcessors;    // of the GPU: blocks of a kernel that run at the same time, two each
  int arch = kUsualArch;                // its compute capability
  bool tf32 = false;                    // products of f32 are in TF32
  bool timed = false;                   // the clock may choose among a library's algorithms
};

constexpr int kThreads = 256;
// Blocks of a kernel that run at the same time on a processor, where its bounds ask for that: as many as keep memory
// busy, with 128 registers for each thread. They may wait for each other.
constexpr int64_t kBlocksOfProcessor = 2;

// Products of less work than this wait for memory more than they multiply, and are one kernel of ours: seen on an H200,
// cuBLASLt's choices for those of a small net take two kernels and 5 to 14 us.
constexpr int64_t kMostWork = 24 << 20;  // multiplications

// How a graph is lowered for a GPU of compute capability `arch` with so many processors; `tf32`: products and
// convolutions of f32 are in TF32.
// `ranks`: there are others to exchange arrays with.
LowerOptions gpu_lowering(bool fuse, bool tf32, int arch = kUsualArch, int processors = kUsualProcessors,
                          bool ranks = false);

Source fused_source(const FusedKernel& kernel, SourceContext& context);

// Bytes of shared memory of a block beside its scratch space, where as many blocks as otherwise run at the same time.
int64_t most_held(int arch, DType compute);

// Prelude and elementwise functions.
std::string source_head();
const char* device_type(DType dtype);  // "float", "bf16", ...

}  // namespace neon::cuda
