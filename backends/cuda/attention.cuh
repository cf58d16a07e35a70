// Attention without its matrix of weights, see ops_attention.cpp. A block takes some queries of a head and goes through
// the keys that they see; in the gradient other blocks take some keys, and go through the queries that see them.
// Weights are made anew from the sums that the forward pass kept. No sum depends on the order in which blocks run.
//
// attention_tensor.cuh has it for numbers of 16 bits on tensor cores, attention_plain.cuh for all others.
constexpr int kShared = kHeads / kKeyHeads;                             // heads of queries that share one of keys
constexpr int kBefore = kKeys - kQueries;                               // keys before that of the first query
constexpr int kQueryRow = kHeads * kSize, kKeyRow = kKeyHeads * kSize;  // from step to step
constexpr float kLog2E = 1.44269504088896341f, kLn2 = 0.69314718055994531f, kUnseen = -1e30f, kLeastSum = 1e-30f;

// Turns an offset in dense rows of `row` numbers into one in rows that are kRow apart.
template <int kRow>
__device__ __forceinline__ i64 in_rows(i64 at, int row) {
  return at / row * kRow + at % row;
}

struct Draws {
  u64 step;
  // Whether the weight of a query and a key stays, in training with dropout.
  __device__ __forceinline__ bool keeps(int sample, int head, int query, int key) const {
    const u64 of_head = (u64(kFirstSample + sample) * kHeads + head) * kDrawsOfSample;
    return uniform(kSeed, kStream, step, of_head + u64(query) * kDrawsOfQuery + u64(key)) < kKeep;
  }
};

__device__ __forceinline__ bool sees(int query, int key, int length) {
  return key < length && (!kCausal || key <= query + kBefore);
}
// Keys that the queries below `end` see.
__device__ __forceinline__ int keys_seen(int end, int length) {
  return kCausal && end + kBefore < length ? end + kBefore : length;
}
__device__ __forceinline__ int smaller(int a, int b) { return a < b ? a : b; }
__device__ __forceinline__ int parts_of(int count, int size) { return (count + size - 1) / size; }

// The work of a block, one of so many parts of a head. Parts come slowest, so that heads that share keys run
// together, and those with most work first.
struct Place {
  int part, head, sample;
};
template <int kParts, int kOfHeads, bool kLastFirst>
__device__ __forceinline__ Place place_of_block(int block) {
  const int part = block / (kOfHeads * kSamples), rest = block % (kOfHeads * kSamples);
  return {kLastFirst ? kParts - 1 - part : part, rest % kOfHeads, rest / kOfHeads};
}
