// How a segment spreads over threads and blocks.
#include "backends/cuda/segment_spread.h"

#include <algorithm>

#include "backends/cuda/spread_source.h"

namespace neon::cuda {

namespace {

constexpr int64_t kElementsOfManyBlocks = 256 * 1024;
// With several sums of each column. Two sums of (64,56,56,256) took 128 us with a last block, and take 41 on an H200.
constexpr int64_t kElementsOfSeveralSums = 1 << 20;
constexpr int kRegistersOfColumns = 96;  // of 128 that a thread has, for numbers of its columns
// For totals: the most blocks, and the rounds of each block before there are more blocks than keep the GPU busy.
constexpr int64_t kBlocksWanted = 1024, kRoundsOfTotals = 8;
constexpr int kLeastAcross = 8;      // threads beside each other: a line of memory of 16-bit numbers
constexpr int kAcrossOfMeeting = 8;  // the same where blocks meet and rows do not follow each other in memory
// And where they follow each other, about so many: of fewer the reads are slow, and of more the parts that the blocks
// have are many. (128,14,14,576) in f16 took 40 µs with 72 on an H100, 32 with 18, 30 with 12.
constexpr int64_t kPacksOfMeeting = 16;
constexpr int64_t kRowsOfLane = 4;  // least rows of a split that one thread adds up
// Columns so tall that a thread has many rows even then are shared by some times the blocks that keep the GPU busy:
// what one of them waits for the others read meanwhile. Sums of 256 MiB: 2.5 to 2.7 TB/s without, 3.6 to 3.8 so, on an
// H200.
constexpr int64_t kManyRowsOfLane = 64, kTimesBusy = 4;
// The least rows of a tile that a thread takes, and takes where it reads other arrays, too: it waits for memory once a
// tile, and with fewer rows it has too little under way.
constexpr int64_t kRowsOfProduct = 3, kRowsOfReader = 4;
constexpr int kWidthOfProduct = 8;      // columns that a thread takes of a product
constexpr int64_t kColumnsAtOnce = 16;  // the tensor cores take 8 for each half of a block
constexpr int64_t kRowsOfMeeting = 4;   // the same where blocks meet: more of them keep what they read in registers

int power_of_two_from(int64_t n) {
  int out = 1;
  while (out < n) out *= 2;
  return out;
}

}  // namespace

SegmentSpread::SegmentSpread(const Segment& segment, CodeText& code, int64_t busy_blocks, const RowProduct* product)
    : SegmentWalks(segment, code, product) {
  split_axes();
  choose_width();
  if (width_ > 1) choose_early_stores();
  choose_lanes(busy_blocks);
  choose_splits(busy_blocks);
  if (groups_ * reduced_ < (int64_t(1) << 30)) index_ = "int";
}

void SegmentSpread::split_axes() {
  const int rank = segment_.domain.rank();
  int last_reduced = -1, last_kept = -1;
  for (int axis = 0; axis < rank; ++axis) {
    if (segment_.domain[axis] == 1) continue;
    (segment_.reduced[size_t(axis)] ? last_reduced : last_kept) = axis;
  }
  const bool reduces = std::ranges::count(segment_.reduced, true) > 0;
  if (reduces) fold_ = last_reduced >= 0 && last_reduced < last_kept ? Fold::outer : Fold::inner;
  inner_.assign(size_t(rank), 1);
  for (int axis = rank - 1; axis >= 0; --axis) {
    int64_t& side = segment_.reduced[size_t(axis)] ? reduced_ : groups_;
    inner_[size_t(axis)] = side;
    side *= segment_.domain[axis];
    if (axis > last_reduced) row_ = groups_;
  }
}

// Wide only where there are threads enough all the same.
void SegmentSpread::choose_width() {
  const int64_t side = fold_ == Fold::inner ? reduced_ : row_;
  if (groups_ * reduced_ < kElementsOfManyBlocks) return;
  for (int width : {8, 4, 2}) {
    if (side % width != 0 || (fold_ != Fold::none && side < 2 * width)) continue;
    bool fits = true;
    for (const Instruction& i : segment_.body)
      if (i.kind == Instruction::Kind::load && !i.strides.empty() && access(i, width) == Access::pack)
        fits = fits && int(size_of(code_.type(i.value).dtype)) * width <= kAccessBytes;
    for (const Store& store : segment_.stores)
      if (store.reach == Reach::full)
        fits = fits && int(size_of(code_.type(store.value).dtype)) * width <= kAccessBytes &&
               !code_.context().recorded.count(store.value.id);
    if (!fits || (fold_ == Fold::outer && width * most_kept() > kRegistersOfColumns)) continue;
    width_ = width;
    break;
  }
  if (fold_ == Fold::inner) along_ = width_;
}

void SegmentSpread::choose_lanes(int64_t busy_blocks) {
  if (fold_ == Fold::none) {
    per_block_ = int64_t(kThreads) * width_;
    if (only_totals()) packs_ = rounds_of_totals(busy_blocks);
    per_block_ *= packs_;
  } else if (fold_ == Fold::inner) {
    const int64_t packs = (reduced_ + along_ - 1) / along_;
    lanes_ = std::min(power_of_two_from((packs + 1) / 2), 32);
    // As many that the elements of a row stay in registers from one walk to the next.
    while (walks_ > 1 && lanes_ < kThreads && packs > lanes_ * 8) lanes_ *= 2;
    if (reduced_ > 4096 || (reduced_ > 256 && groups_ < 2048)) lanes_ = kThreads;
    per_block_ = kThreads / lanes_;
  } else {
    const int across = threads_across();
    lanes_ = kThreads / across;
    per_block_ = int64_t(across) * width_;
  }
}

// Threads beside each other in an outer fold: a power of two, with few threads beyond the last group, and no more rows
// of threads than there are rows.
int SegmentSpread::threads_across() const {
  const int64_t packs = (groups_ + width_ - 1) / width_;
  if (width_ > 1 && (reductions_.empty() || !ends_with_last_block())) {
    if (row_ != groups_) return std::min(power_of_two_from(packs), kAcrossOfMeeting);
    const int64_t bundles = std::max<int64_t>((packs + kPacksOfMeeting / 2) / kPacksOfMeeting, 1);
    return int((packs + bundles - 1) / bundles);
  }
  const auto idle = [&](int across) { return (packs + across - 1) / across * across - packs; };
  int best = std::min(power_of_two_from(packs), 32);
  for (int across = best / 2; across >= kLeastAcross && kThreads / across <= reduced_; across /= 2)
    if (idle(across) + packs / 8 < idle(best)) best = across;
  return best;
}

// Rounds of blocks that make totals alone. The blocks are few: each has a number for the last block to add up, and
// takes its turn at the ticket. Little memory gets as many blocks as run at the same time. Much memory gets enough
// blocks to fill the largest GPUs a few times.
int64_t SegmentSpread::rounds_of_totals(int64_t busy_blocks) const {
  const int64_t all = (groups_ + per_block_ - 1) / per_block_;
  const int64_t blocks = std::min(std::max(busy_blocks, all / kRoundsOfTotals), kBlocksWanted);
  return (all + blocks - 1) / blocks;
}

// Whether the last block may do what is left after one walk. It adds up the parts of all blocks, by itself: of several
// sums of a large array rather the blocks meet and share that.
bool SegmentSpread::ends_with_last_block() const {
  return ends_after_one_walk() && (reductions_.size() == 1 || groups_ * reduced_ < kElementsOfSeveralSums);
}

// Tall columns are shared by several blocks, as many as keep memory busy: whoever goes on reads what each of them has
// added up. When nothing but their folds is left to do after one walk, the last block does it; otherwise they meet, and
// are no more than run at the same time.
void SegmentSpread::choose_splits(int64_t busy_blocks) {
  if (fold_ != Fold::outer) return;
  for (int reg : reductions_)
    if (segment_.body[size_t(reg)].op->traits.reduction == Reduction::argmax) return;
  meets_ = !reductions_.empty() && !ends_with_last_block();
  const int64_t most = reduced_ / (lanes_ * (meets_ ? kRowsOfMeeting : kRowsOfLane));
  int64_t wanted = busy_blocks / bundles();
  if (!meets_) wanted = std::max(wanted, std::min(kTimesBusy * wanted, reduced_ / (lanes_ * kManyRowsOfLane)));
  splits_ = std::max<int64_t>(std::min(most, wanted), 1);
  meets_ = meets_ && splits_ > 1;
}

bool SegmentSpread::is_on_side(int axis) const { return segment_.reduced[size_t(axis)] == (fold_ == Fold::inner); }

SegmentSpread::Access SegmentSpread::access(const Instruction& load, int width) const {
  if (load.spread) {
    const bool pack = is_on_side(segment_.domain.rank() - 1) && spreads_packs(code_, load, segment_.domain, width);
    return pack ? Access::pack : Access::each;
  }
  const int first_axis = load.index ? 1 : 0;
  int axis = segment_.domain.rank() - 1;
  while (axis >= first_axis && segment_.domain[axis] == 1) --axis;
  if (axis < first_axis || !is_on_side(axis) || load.reach != Reach::full) return Access::each;
  const int64_t stride = load.strides[size_t(axis)];
  int64_t run = segment_.domain[axis];
  while (axis > first_axis && is_on_side(axis - 1) && load.strides[size_t(axis - 1)] == stride * run)
    run *= segment_.domain[--axis];
  if (stride > 1 || run % width != 0) return Access::each;
  if (stride == 0) return Access::same;
  if (load.first % width != 0) return Access::each;
  for (int outer = 0; outer < axis; ++outer)
    if (load.strides[size_t(outer)] % width != 0) return Access::each;
  return code_.row_elements(load.value) % width == 0 ? Access::pack : Access::each;
}

std::optional<RowProductPlan> SegmentSpread::product_plan() const {
  if (made_ < 0 || fold_ != Fold::outer || row_ != groups_ || !meets_ || width_ != kWidthOfProduct) return {};
  if (access(segment_.body[size_t(made_)], width_) != Access::pack) return {};
  if (rows_of_thread() * width_ <= kMostKept) return {};
  const Needs needs = needs_of_walk(0);
  bool reads = false;
  for (int n = 0; n < int(needs.size()); ++n) reads = reads || (needs[size_t(n)] && n != made_ && is_full_load(n));
  if (kRowsOfTile / lanes_ < (reads ? kRowsOfReader : kRowsOfProduct)) return {};
  RowProductPlan out{.dtype = code_.type(product_->result).dtype,
                     .count = reduced_,
                     .inner = code_.type(product_->rows).shape.back(),
                     .all = groups_,
                     .columns = (per_block_ + kColumnsAtOnce - 1) / kColumnsAtOnce * kColumnsAtOnce,
                     .blocks = splits_,
                     .turned = product_->turned};
  if (!out.fits(most_held(code_.context().arch, DType::f32))) return {};
  return out;
}

// Rows of a group that one thread takes, at the most.
int64_t SegmentSpread::rows_of_thread() const {
  return splits_ > 1 ? (reduced_ + row_step() - 1) / row_step() : items();
}

}  // namespace neon::cuda
