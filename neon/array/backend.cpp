#include <algorithm>
#include <cmath>

#include "neon/array/node.h"

namespace neon {

namespace {

constexpr size_t kMostKept = size_t(1) << 30;  // bytes of arrays given back
constexpr double kTwoPi = 6.283185307179586;

}  // namespace

std::shared_ptr<DeviceMemory> MemoryPool::make(size_t bytes) {
  try {
    return make_memory(bytes, options_);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::memory || kept_ == 0) throw;
    clear();
    return make_memory(bytes, options_);
  }
}

void MemoryPool::clear() {
  free_.clear();
  kept_ = 0;
}

void MemoryPool::give_back(std::shared_ptr<DeviceMemory> memory) {
  if (memory->bytes() > kMostKept) return;
  // The kept blocks may have sizes that nobody asks for any more.
  if (kept_ + memory->bytes() > kMostKept) clear();
  kept_ += memory->bytes();
  free_[memory->bytes()].push_back(std::move(memory));
}

std::shared_ptr<DeviceMemory> MemoryPool::take(const std::shared_ptr<MemoryPool>& pool, size_t bytes) {
  bytes = (std::max<size_t>(bytes, 1) + 63) / 64 * 64;
  auto& free = pool->free_[bytes];
  std::shared_ptr<DeviceMemory> memory;
  if (free.empty()) {
    memory = pool->make(bytes);
  } else {
    memory = std::move(free.back());
    free.pop_back();
    pool->kept_ -= bytes;
  }
  DeviceMemory* const address = memory.get();
  return {address, [pool, memory](DeviceMemory*) mutable { pool->give_back(std::move(memory)); }};
}

NodePtr Backend::State::new_array(const std::shared_ptr<State>& self, const TensorType& type) {
  return array_node(self, with_room([&] { return MemoryPool::take(pool, type.bytes()); }), 0, type);
}

void Backend::State::drop_programs() {
  known.clear();
  programs.clear();
}

DeviceOptions device_of(const BackendOptions& options) {
  if (options.device != "cpu" && options.device != "gpu")
    fail(ErrorKind::config, "device '", options.device, "' is not one of cpu, gpu",
         did_you_mean(options.device, {"cpu", "gpu"}));
  if (!is_floating(options.dtype))
    fail(ErrorKind::config, "arrays are of a floating type unless they say: not ", options.dtype);
  if (options.program_bytes < 0) fail(ErrorKind::config, "program_bytes ", options.program_bytes, " is below 0");
  if (options.threads < 0)
    fail(ErrorKind::config, "threads ", options.threads, " is below 0; 0 takes as many as there are");
  DeviceOptions out;
  out.gpu = options.device == "gpu";
  out.gpu_index = options.device_index;
  out.timed = options.timed;
  out.tf32 = options.tf32;
  out.name = "an expression";
  out.program.threads = options.threads;
  out.program.callers_memory = true;
  return out;
}

Backend::Backend(const BackendOptions& options) : state_(std::make_shared<State>()) {
  state_->options = options;
  state_->device = device_of(options);
  if (state_->device.gpu) check_gpu(options.device_index);
  state_->pool = std::make_shared<MemoryPool>(state_->device);
}

DType Backend::options_dtype() const { return state_->options.dtype; }

Array Backend::empty(const Shape& shape, DType dtype) const {
  return {Array::Place{}, state_->new_array(state_, {dtype, shape})};
}

Array Backend::full(const Shape& shape, double value, DType dtype) const {
  return Array(empty(shape, dtype)).assign(value);
}

Array Backend::array(const Tensor& values) const { return Array(empty(values.shape(), values.dtype())).set(values); }

Array Backend::array(std::span<const double> values, const Shape& shape, DType dtype) const {
  if (int64_t(values.size()) != shape.elements())
    fail(ErrorKind::config, values.size(), " values do not fill ", shape, ", which has ", shape.elements());
  Tensor tensor(dtype, shape);
  for (size_t i = 0; i < values.size(); ++i) tensor.set(int64_t(i), values[i]);
  return array(tensor);
}

Array Backend::array(std::span<const float> values, const Shape& shape, DType dtype) const {
  return array(std::vector<double>(values.begin(), values.end()), shape, dtype);
}

namespace {

// A node without inputs has no backend by itself.
Lazy on(const std::shared_ptr<Backend::State>& state, NodePtr node) {
  auto mine = std::make_shared<Lazy::Node>(*node);
  mine->state = state;
  return Lazy(std::move(mine));
}

Attributes shape_attribute(const Shape& shape) { return {{"shape", std::vector<int64_t>(shape.begin(), shape.end())}}; }

}  // namespace

Lazy Backend::index(const Shape& shape, int axis) const {
  return on(state_, make_node(ops::iota, {},
                              {{"shape", std::vector<int64_t>(shape.begin(), shape.end())},
                               {"axis", int64_t(checked_axis(shape, axis))}}));
}

Lazy Backend::uniform(const Shape& shape, double low, double high) const {
  if (!(low <= high)) fail(ErrorKind::config, "uniform: low ", low, " is above high ", high);
  const Lazy drawn = on(state_, make_node(ops::uniform, {}, shape_attribute(shape)));
  return low == 0 && high == 1 ? drawn : low + (high - low) * drawn;
}

// Box and Muller (1958); 1 less a draw is never 0.
Lazy Backend::normal(const Shape& shape, double mean, double stddev) const {
  if (!(stddev >= 0)) fail(ErrorKind::config, "normal: the standard deviation ", stddev, " is below 0");
  const Lazy drawn = sqrt(-2 * log(1 - uniform(shape))) * apply("cos", kTwoPi * uniform(shape));
  return mean + stddev * drawn;
}

Lazy Backend::mask(const Shape& shape, double keep) const {
  if (!(keep >= 0 && keep <= 1)) fail(ErrorKind::config, "mask: ", keep, " is no probability, from 0 to 1");
  return uniform(shape) < keep;
}

DrawState Backend::draw_state() const { return {state_->options.seed, state_->evaluations}; }

void Backend::set_draw_state(const DrawState& state) {
  // The seed is part of the programs.
  if (state.seed != state_->options.seed) state_->drop_programs();
  state_->options.seed = state.seed;
  state_->evaluations = state.evaluations;
}

Array Backend::hist(const Lazy& a, const std::string& tag) {
  Array row = histogram(a, state_->hist_bins, state_->hist_offset);
  Array kept = empty(row.shape(), row.dtype());  // whatever becomes of what is given away
  kept.assign(row);
  state_->hist_tags[tag] = int64_t(state_->hist_rows.size());
  state_->hist_rows.push_back(kept.node()->memory);
  return row;
}

void Backend::set_hist_buffers(int64_t bins, int64_t offset) {
  if (bins == state_->hist_bins && offset == state_->hist_offset) return;
  histogram(0.0, bins, offset);  // says what is wrong with them
  state_->hist_bins = bins;
  state_->hist_offset = offset;
  state_->hist_rows.clear();
  state_->hist_tags.clear();
}

std::pair<Tensor, std::map<std::string, int64_t>> Backend::dump_hist_data() {
  Tensor counts(DType::i32, {int64_t(state_->hist_rows.size()), state_->hist_bins});
  const size_t bytes = size_t(state_->hist_bins) * sizeof(int32_t);
  for (size_t row = 0; row < state_->hist_rows.size(); ++row)
    state_->hist_rows[row]->download(static_cast<std::byte*>(counts.data()) + row * bytes, bytes, 0);
  state_->hist_rows.clear();
  return {counts, std::exchange(state_->hist_tags, {})};
}

void Backend::synchronize() const {
  int word = 0;
  MemoryPool::take(state_->pool, sizeof word)->download(&word, sizeof word, 0);
}

std::string Backend::last_program() const {
  return state_->programs.empty() ? "" : to_string(state_->programs.front().second.program->lowered());
}

int Backend::last_kernels() const {
  return state_->programs.empty() ? 0 : int(state_->programs.front().second.program->lowered().kernels.size());
}

int64_t Backend::programs_compiled() const { return state_->compiled; }

}  // namespace neon
