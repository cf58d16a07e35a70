// Which walk over the elements of a segment reads, computes and stores what.
#include "backends/cuda/segment_walks.h"

#include <algorithm>
#include <set>

namespace neon::cuda {

SegmentWalks::SegmentWalks(const Segment& segment, CodeText& code, const RowProduct* product)
    : segment_(segment), code_(code), product_(product) {
  for (int n = 0; product && n < int(segment.body.size()); ++n)
    if (is_full_load(n) && segment.body[size_t(n)].value == product->result) made_ = n;
  put_early_.assign(segment.body.size(), Value{});
  find_levels();
}

void SegmentWalks::find_levels() {
  for (size_t n = 0; n < segment_.body.size(); ++n) {
    const Instruction& i = segment_.body[n];
    const bool reduces = i.kind == Instruction::Kind::reduce;
    int level = 0;
    for (int input : i.inputs) level = std::max(level, level_[size_t(input)]);
    level_.push_back(level + reduces);
    walks_ = std::max(walks_, level_.back() + 1);
    if (reduces) last_folding_ = std::max(last_folding_, level), reductions_.push_back(int(n));
  }
  last_storing_ = last_folding_;
  auto look = [&](int reg) {
    if (segment_.body[size_t(reg)].reach == Reach::full) last_storing_ = std::max(last_storing_, level_[size_t(reg)]);
  };
  for (const Store& store : segment_.stores) look(store.reg);
  for (const Total& total : segment_.totals) look(total.reg);
}

void SegmentWalks::add_needs(int reg, int level, Needs& needs) const {
  if (needs[size_t(reg)] || segment_.body[size_t(reg)].reach != Reach::full) return;
  needs[size_t(reg)] = true;
  if (is_put_before(reg, level)) return;
  for (int input : segment_.body[size_t(reg)].inputs) add_needs(input, level, needs);
}

// The walk in which full registers are stored is the last: what is stored may take the place of what is read, and a
// walk may read it again.
int SegmentWalks::store_level(int reg) const {
  return put_early_[size_t(reg)] ? level_[size_t(reg)] : std::max(level_[size_t(reg)], last_storing_);
}

std::vector<int> SegmentWalks::folds_of(int level) const {
  std::vector<int> out;
  for (int reg : reductions_)
    if (level_[size_t(reg)] == level + 1) out.push_back(reg);
  return out;
}

// Full registers that the walk after `level` reductions computes or reads.
SegmentWalks::Needs SegmentWalks::needs_of_walk(int level) const {
  Needs needs(segment_.body.size(), false);
  for (int reg : folds_of(level)) add_needs(segment_.body[size_t(reg)].inputs[0], level, needs);
  for (const Store& store : segment_.stores)
    if (store_level(store.reg) == level) add_needs(store.reg, level, needs);
  for (const Total& total : segment_.totals)
    if (store_level(total.reg) == level) add_needs(total.reg, level, needs);
  return needs;
}

bool SegmentWalks::ends_after_one_walk() const {
  for (int level = 1; level < walks_; ++level)
    if (std::ranges::count(needs_of_walk(level), true) > 0) return false;
  return last_folding_ == 0;
}

bool SegmentWalks::stores_product() const {
  bool out = product_->kept;
  for (int level = 1; level < walks_; ++level) out = out || needs_of_walk(level)[size_t(made_)];
  return out;
}

bool SegmentWalks::only_totals() const {
  return !segment_.totals.empty() &&
         std::ranges::none_of(segment_.stores, [](const Store& store) { return store.reach == Reach::full; });
}

bool SegmentWalks::is_full_load(int reg) const {
  const Instruction& i = segment_.body[size_t(reg)];
  return i.reach == Reach::full && i.kind == Instruction::Kind::load && !i.strides.empty();
}

// The numbers that a walk needs for each column: what is kept of the walks before, and what it folds.
int SegmentWalks::most_kept() const {
  int most = 0;
  for (int level = 0; level < walks_; ++level) {
    const Needs needs = needs_of_walk(level);
    std::set<int> kept;
    for (size_t n = 0; n < needs.size(); ++n)
      for (int input : needs[n] ? segment_.body[n].inputs : std::vector<int>{})
        if (segment_.body[size_t(input)].reach == Reach::kept) kept.insert(input);
    most = std::max(most, int(kept.size() + folds_of(level).size()));
  }
  return most;
}

// A value of several arrays is stored at once if later walks then read less, as long as they read nothing of the array
// whose place it takes, and nothing that a product is made of. Before memory is planned none is.
void SegmentWalks::choose_early_stores() {
  const SourceContext& context = code_.context();
  if (context.lowered.storage.empty()) return;
  for (const Store& store : segment_.stores) {
    const Instruction& made = segment_.body[size_t(store.reg)];
    const int level = level_[size_t(store.reg)];
    if (store.reach != Reach::full || made.kind == Instruction::Kind::load || level >= last_storing_) continue;
    if (context.recorded.count(store.value.id) || context.lowered.placements[size_t(store.value.id)]) continue;
    if (std::ranges::count(segment_.stores, store.reg, &Store::reg) > 1) continue;  // one place would have to suit all
    const Value place = context.lowered.storage[size_t(store.value.id)];
    const auto lies_there = [&](Value value) { return context.lowered.storage[size_t(value.id)] == place; };
    if (product_ && (lies_there(product_->rows) || lies_there(product_->weights))) continue;
    const int64_t before = bytes_read_after(level);
    Value& early = put_early_[size_t(store.reg)];
    early = store.value;
    if (bytes_read_after(level) >= before || is_read_after(place, level)) early = {};
  }
}

// Bytes of one element.
int64_t SegmentWalks::bytes_read_after(int level) const {
  int64_t bytes = 0;
  for (int later = level + 1; later < walks_; ++later) {
    const Needs needs = needs_of_walk(later);
    for (int n = 0; n < int(needs.size()); ++n) {
      const bool put = is_put_before(n, later);
      if (!needs[size_t(n)] || (!put && !is_full_load(n))) continue;
      bytes += int64_t(size_of(code_.type(put ? put_early_[size_t(n)] : segment_.body[size_t(n)].value).dtype));
    }
  }
  return bytes;
}

// Whether a load reads of a storage, by any of its values.
bool SegmentWalks::reads(const Instruction& load, Value storage) const {
  const auto lies_there = [&](Value value) {
    return value && code_.context().lowered.storage[size_t(value.id)] == storage;
  };
  return lies_there(load.value) || lies_there(load.index) || (load.spread && lies_there(load.spread->gate));
}

bool SegmentWalks::is_read_after(Value storage, int level) const {
  for (int later = level + 1; later < walks_; ++later) {
    const Needs needs = needs_of_walk(later);
    for (int n = 0; n < int(needs.size()); ++n)
      if (needs[size_t(n)] && is_full_load(n) && reads(segment_.body[size_t(n)], storage) && !is_put_before(n, later))
        return true;
  }
  return false;
}

}  // namespace neon::cuda
