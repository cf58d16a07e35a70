#include "neon/train/buckets.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "models/measures.h"
#include "neon/core/key_error.h"
#include "neon/core/message.h"

namespace neon {

namespace {

constexpr double kMostBuckets = 64, kMostSteps = 1e9;

}  // namespace

void Value_of<Buckets>::read(const Setting& from, Buckets& out, const Constraint&, Problems& problems) {
  out = {};
  if (from.is_scalar()) return Value_of<int64_t>::read(from, out.count, closed(0, kMostBuckets), problems);
  if (!from.is_list()) {
    if (!from.is_null()) detail::wrong_type(from, "a number of buckets or [length, ...]", problems);
    return;
  }
  if (double(from.items.size()) > kMostBuckets)
    return problems.add(from, text("has ", from.items.size(), " lengths, expected at most ", kMostBuckets));
  for (const Setting& item : from.items) {
    const int64_t before = out.steps.empty() ? 0 : out.steps.back();
    int64_t length = 0;
    Value_of<int64_t>::read(item, length, closed(1, kMostSteps), problems);
    if (length > 0 && length <= before)
      problems.add(item, text("the length ", length, " stands behind ", before, "; each must exceed the one before"));
    out.steps.push_back(length);
  }
}

Setting Value_of<Buckets>::write(const Buckets& value) {
  if (value.steps.empty()) return Value_of<int64_t>::write(value.count);
  return Value_of<std::vector<int64_t>>::write(value.steps);
}

void check_buckets(const Buckets& buckets, const DataLayout& data, bool by_rule) {
  if (!buckets.is_given()) return;
  if (!data.ragged)
    fail_about("buckets", "sorts sequences of different lengths, and the samples ", data.sample,
               data.sequence ? " are sequences of one length" : " are no sequences", "; leave it out");
  if (by_rule)
    fail_about("buckets", "is for nets that train by a cost: a rule sees the padding of sequences; leave it out");
  if (data.target_is_input && !layout_for(nullptr, data).steps_are_targets)
    fail_about("buckets", "is not for nets whose targets are the samples; leave it out");
  if (!buckets.steps.empty() && buckets.steps.back() > data.sample[0])
    fail_about("buckets", "has the length ", buckets.steps.back(), ", and the longest sequences have ", data.sample[0],
               " steps");
}

namespace {

SampleBuckets buckets_of(const Buckets& buckets, const Tensor& inputs, int64_t batch) {
  std::vector<int32_t> lengths = sequence_lengths(inputs);
  const std::vector<int64_t> steps = buckets.count > 0 ? best_buckets(lengths, buckets.count, batch) : buckets.steps;
  return std::make_shared<const LengthBuckets>(sorted_into_buckets(std::move(lengths), steps));
}

}  // namespace

SampleBuckets make_buckets(const Buckets& buckets, const DataLayout& layout, const Data& data, int64_t batch) {
  if (!buckets.is_given()) return nullptr;
  const SampleBuckets found = buckets_of(buckets, data.train.inputs, batch);
  if (!layout.targets_have_lengths()) return found;
  LengthBuckets out = *found;
  count_labels(data.train.targets, out);
  return std::make_shared<const LengthBuckets>(std::move(out));
}

SampleBuckets buckets_of_evaluation(const Buckets& buckets, const DataLayout& data, const Split& split, int64_t batch) {
  const bool sees_padding =
      !data.ragged || split.inputs.empty() || (data.target_is_input && !layout_for(nullptr, data).steps_are_targets);
  return buckets.is_given() && !sees_padding ? buckets_of(buckets, split.inputs, batch) : nullptr;
}

namespace {

using Shapes = std::map<std::string, Shape>;

Shapes shapes_of(const StepGraph& step) {
  Shapes out;
  for (const Parameter& p : step.parameters) out.emplace(p.name, p.shape);
  for (const Value value : step.graph.leaves(LeafKind::variable))
    out.emplace(step.graph.producer(value).attributes.string("name"), step.graph.shape(value));
  return out;
}

}  // namespace

std::string other_weight(const StepGraph& whole, const StepGraph& other) {
  const Shapes all = shapes_of(whole);
  for (const auto& [name, shape] : shapes_of(other))
    if (const auto found = all.find(name); found == all.end() || found->second != shape) return name;
  return "";
}

void check_same_weights(const StepGraph& whole, const StepGraph& shortest, int64_t whole_steps, int64_t steps) {
  const std::string name = other_weight(whole, shortest);
  if (name.empty()) return;
  const Shapes all = shapes_of(whole);
  const auto found = all.find(name);
  fail_about("buckets", name, " has the shape ", shapes_of(shortest).at(name), " for sequences of ", steps, " steps, ",
             found == all.end() ? text("and none") : text("and ", found->second), " for ", whole_steps,
             ": batches of several lengths share all weights; pool over the steps before that layer, give ",
             "LearnedPositions its steps, or leave buckets out");
}

std::optional<StepGraph> step_of_length(const StepGraph& whole, int64_t whole_steps, int64_t steps,
                                        const std::function<StepGraph()>& make) try {
  StepGraph out = make();
  check_same_weights(whole, out, whole_steps, steps);
  return out;
} catch (const Error& error) {
  if (error.kind() != ErrorKind::config) throw;
  return std::nullopt;
}

namespace {

// "7, 12 or 40"
std::string lengths_text(const std::vector<int64_t>& lengths) {
  std::string out;
  for (size_t k = 0; k < lengths.size(); ++k)
    out += text(k == 0 ? "" : k + 1 == lengths.size() ? " or " : ", ", lengths[k]);
  return out;
}

}  // namespace

std::string buckets_text(const LengthBuckets& buckets, const std::vector<int32_t>& order, int64_t batch,
                         int64_t steps) {
  const std::span<const int32_t> all(order);
  const auto count = int64_t(order.size());
  double counted = 0, padded = 0;
  for (const int32_t sample : order) counted += buckets.lengths[size_t(sample)];
  for (int64_t first = 0; first < count; first += batch) {
    const int64_t size = std::min(batch, count - first);
    const int32_t of = size < batch ? int32_t(buckets.steps.size()) - 1
                                    : bucket_of_batch(all.subspan(size_t(first), size_t(size)), buckets);
    padded += double(size) * double(buckets.steps[size_t(of)]);
  }
  const auto share = [&](double of_all) { return std::lround(100 * (1 - counted / of_all)); };
  const std::string labels = buckets.labels.empty() ? "" : text(", and ", lengths_text(buckets.labels), " labels");
  return text("batches of up to ", lengths_text(buckets.steps), " steps", labels, ": ", share(padded),
              " % of the steps are padding, ", share(double(count) * double(steps)), " % without buckets");
}

}  // namespace neon
