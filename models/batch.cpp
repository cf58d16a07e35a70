#include "models/batch.h"

#include <algorithm>
#include <optional>

#include "backends/graph/ops.h"
#include "datasets/reconstruction.h"
#include "models/several_targets.h"
#include "neon/core/key_error.h"
#include "transforms/parts.h"

namespace neon {

bool channels_last(const DataLayout& data, const StepOptions& options) {
  return data.channels_last || !options.augment.empty();
}

namespace {

Expr scaled(Expr raw, const DataLayout& data, DType arithmetic) {
  Expr x = cast(raw, arithmetic);
  if (data.scale != 1) x = x * double(data.scale);
  if (data.shift != 0) x = x + double(data.shift);
  return x;
}

// x (N,...) minus the means of its channels, divided by their deviations, as one product and one sum.
Expr normalized(Expr x, const DataLayout& data, bool channels_last) {
  if (data.means.empty()) return x;
  std::vector<Expr> factors, terms;
  for (size_t c = 0; c < data.means.size(); ++c) {
    factors.push_back(x.constant(1 / data.deviations[c]));
    terms.push_back(x.constant(-data.means[c] / data.deviations[c]));
  }
  auto by_channel = [&](const std::vector<Expr>& numbers) {
    return along_axis(x.graph(), numbers, x.shape(), channels_last ? 3 : 1);
  };
  return x * by_channel(factors) + by_channel(terms);
}

// The samples that `indices` names, before they are augmented.
ImageBatch images_of(Graph& graph, const DataLayout& data, Value all, Value indices, const StepOptions& options,
                     bool training) {
  if (!data.is_image())
    fail_about("augment", "is for images (C, H, W), the samples are ", data.sample, "; leave it out");
  if (!data.channels_last) {
    all = transpose(graph, gather(graph, all, indices), {0, 2, 3, 1});
    indices = {};
  }
  ImageBatch batch(graph, all, indices, {data.scale, data.shift}, compute_type(options.dtype), training, options.seed);
  batch.means = data.means;
  return batch;
}

void augment(ImageBatch& batch, const StepOptions& options) {
  try {
    for (const Augmentation* augmentation : options.augment) augmentation->apply(batch);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::config) throw;
    fail_about("augment", error.what());
  }
}

// Whether targets are images (C,H,W) or (H,W) of as many rows and columns as the samples.
bool match_samples(const Shape& target, const Shape& sample) {
  const int last = target.rank() - 1;
  return last >= 1 && last <= 2 && target[last - 1] == sample[1] && target[last] == sample[2];
}

bool has_several_axes(const Shape& target) {
  return std::ranges::count_if(target, [](int64_t size) { return size > 1; }) > 1;
}

// Targets (N,(C,)H,W) of a batch as (N,H,W,C), and back.
Value channels_last_target(Graph& graph, Value target) {
  const Shape& shape = graph.shape(target);
  if (shape.rank() == 4) return transpose(graph, target, {0, 2, 3, 1});
  return reshape(graph, target, {shape[0], shape[1], shape[2], 1});
}
Value as_given(Graph& graph, Value images, int rank) {
  const Shape& shape = graph.shape(images);
  if (rank == 4) return transpose(graph, images, {0, 3, 1, 2});
  return reshape(graph, images, {shape[0], shape[1], shape[2]});
}

// Targets (N,K) whose last columns are the samples themselves (C,H,W): these move with the pixels. Beyond the border
// lies black, which the net sees as `shift`.
Value with_moved_samples(ImageBatch& images, const DataLayout& data, Value targets, const StepOptions& options) {
  Graph& graph = images.graph;
  const Expr all(graph, targets);
  const int64_t n = all.shape()[0], numbers = data.sample.elements(), others = all.shape()[1] - numbers;
  const auto shifted = [&](Value x, double by) { return by == 0 ? x : Value(Expr(graph, x) + by); };
  const Value own = reshape(graph, columns_of(all, others, numbers), Shape{n}.concat(data.sample));
  images.accompany(channels_last_target(graph, shifted(own, -data.shift)), {}, Sampling::linear);
  augment(images, options);
  const Value moved = shifted(as_given(graph, images.companion(), 4), data.shift);
  if (const Shape now = graph.shape(moved).slice(1, 4); now != data.sample)
    fail_about(
        "augment", "makes samples ", now, " of ", data.sample,
        ", and the target `sample` of `reconstruct` has the numbers of the latter; leave its size out, and give ",
        "the data set's images their size");
  const Expr rows(graph, reshape(graph, moved, {n, numbers}));
  return others == 0 ? Value(rows) : Value(joined_outputs({columns_of(all, 0, others), rows}));
}

// The targets (N,...) of the samples, moved as augmentations move the pixels of `images`.
Value moved_targets(ImageBatch& images, const DataLayout& data, Value targets, const StepOptions& options) {
  Graph& graph = images.graph;
  const int rank = graph.shape(targets).rank();
  if (has_image_as_target(data)) return with_moved_samples(images, data, targets, options);
  const bool alike = data.label_of != LabelOf::box && match_samples(data.target, data.sample);
  if (data.label_of == LabelOf::box) {
    images.boxes = {graph, targets};
    augment(images, options);
    return {};  // images.boxes, once values() has moved them
  }
  if (alike)
    images.accompany(channels_last_target(graph, targets), {},
                     data.whole_targets ? Sampling::nearest : Sampling::linear);
  augment(images, options);
  if (alike) return as_given(graph, images.companion(), rank);
  if (images.moves() && has_several_axes(data.target))
    fail_about(
        "augment", "moves pixels of samples ", data.sample, ", and targets ", data.target,
        " are not of their size, so that they cannot move alike; leave out crops, flips and scales, or give targets ",
        "of the samples' size");
  return targets;
}

// The targets t (N,K) of samples that were mixed, unless they lie in the batch as the samples do.
Expr mixed_targets(const ImageBatch& images, const DataLayout& data, const StepOptions& options, Expr t) {
  if (images.mixture.empty() || data.target_is_input || match_samples(data.target, data.sample)) return t;
  if (data.label_of == LabelOf::sequence || data.label_of == LabelOf::box)
    fail_about("augment", "mixes samples, and targets that are ",
               data.label_of == LabelOf::box ? "boxes of objects" : "sequences of labels",
               " have no mixture; leave out Mixup and CutMix");
  if (!has_image_as_target(data)) return images.mixture.of(t);
  std::vector<Expr> parts;  // by output
  int64_t first = 0;
  for (const size_t k : targets_of_outputs(data, options)) {
    const Expr own = columns_of(t, first, data.targets[k].width);
    parts.push_back(k + 1 == data.targets.size() ? own : images.mixture.of(own));
    first += data.targets[k].width;
  }
  return joined_outputs(parts);
}

// Each of the labels (N,...) as 1 at its class and 0 elsewhere, (labels,classes).
Expr one_hot(Graph& graph, Value labels, int64_t classes) {
  const Expr each(graph, reshape(graph, labels, {graph.shape(labels).elements(), 1}));
  return apply("equal", each, Expr(graph, iota(graph, {1, classes}, 1)));
}

// Sequences x (N,T) or (N,T,F) with 0 for their padding, and their lengths (N).
Expr without_padding(Expr x, const DataLayout& data, Value& lengths) {
  Graph& graph = x.graph();
  const Expr counts = data.tokens > 0 ? apply("greater_equal", x, x.constant(0)) : apply("equal", x, x);
  const int64_t samples = x.shape()[0], steps = x.shape()[1], numbers = x.shape().elements() / (samples * steps);
  // Padding is a whole step, so that its first number tells.
  Expr each = reshape(counts, {samples, steps, numbers});
  if (numbers > 1) each = part(each, 2, 0);
  lengths = cast(graph, reshape(sum(each, {1}), {samples}), DType::i32);
  return data.tokens > 0 ? cast(maximum(x, 0), DType::i32) : apply("select", counts, x, x.constant(0));
}

// 1 for each of the labels (N,T) that is not below 0, (N T,1).
Expr labelled(Graph& graph, Value labels, DType dtype) {
  const Expr each(graph, reshape(graph, labels, {graph.shape(labels).elements(), 1}));
  return cast(apply("greater_equal", each, each.constant(0)), dtype);
}

// A sample or target of that many steps in place of its own; 0: of its own.
Shape of_steps(Shape shape, int64_t steps) {
  return steps > 0 ? Shape{steps}.concat(shape.slice(1, shape.rank())) : shape;
}

// The first steps of sequences x (N,T,...); 0: all of them.
Value first_steps(Graph& graph, Value x, int64_t steps) {
  if (steps == 0 || graph.shape(x)[1] == steps) return x;
  return graph.add(ops::slice, {x}, {{"axis", int64_t(1)}, {"first", int64_t(0)}, {"count", steps}});
}

}  // namespace

DataLayout DataLayout::with_steps(int64_t steps, int64_t labels) const {
  DataLayout out = *this;
  if (labels > 0 && targets_have_lengths()) {
    out.held_labels = target[0];
    out.target = {labels};
    if (target_steps > 0) out.target_steps = labels;
  }
  out.held_steps = sample[0];
  out.sample = of_steps(sample, steps);
  if (steps_have_targets() && target.rank() > 0) out.target = of_steps(target, steps);  // predictions have none
  return out;
}

Batch batch_of(Graph& graph, const DataLayout& data, int64_t set_size, const StepOptions& options, bool training) {
  Scope scope(graph, "batch");
  const Shape rows{set_size};
  Value indices = graph.input("indices", DType::i32, {options.batch});
  const int64_t held = data.held_steps;
  Value all = graph.input("data", data.dtype, rows.concat(of_steps(data.stored_sample(), held)));
  const auto given_targets = [&] {
    const int64_t of_target = data.cuts_targets() ? held : data.held_labels;  // steps that `targets` holds
    const Shape target = of_steps(data.target, of_target);
    const Value batch = gather(graph, graph.input("targets", data.target_dtype, rows.concat(target)), indices);
    return first_steps(graph, batch, of_target > 0 ? data.target[0] : 0);
  };
  Batch out;
  Expr x;
  Value target;
  std::optional<ImageBatch> images;
  if (options.augment.empty()) {
    x = {graph, first_steps(graph, gather(graph, all, indices), held > 0 ? data.sample[0] : 0)};
    if (data.ragged) x = without_padding(x, data, out.lengths);
    if (data.tokens == 0) x = scaled(x, data, compute_type(options.dtype));
  } else {
    images.emplace(images_of(graph, data, all, indices, options, training));
    if (data.target_is_input) augment(*images, options);
    else target = moved_targets(*images, data, given_targets(), options);
    x = images->values();
    if (images->boxes.value()) target = images->boxes;
    out.views = images->views();
    out.moves = images->moves();
  }
  // Numbers of rows stay exact until the net looks them up.
  const DType type = has_embedded(data.table.codes) ? compute_type(options.dtype) : options.dtype;
  out.x = data.tokens > 0 ? x : cast(normalized(x, data, channels_last(data, options)), type);
  const DType cost_dtype = options.dtype == DType::f64 ? DType::f64 : DType::f32;
  if (!data.target_is_input && !target) target = given_targets();
  const bool several = !data.targets.empty() || !options.outputs.empty();
  if (data.target_is_input) out.t = cast(as_rows(out.x), cost_dtype);
  else if (several) out.t = compared_targets(graph, data, options, target, cost_dtype);
  else if (data.classes > 0 && data.label_of != LabelOf::sequence && data.label_of != LabelOf::box)
    out.t = cast(one_hot(graph, target, data.classes), cost_dtype);
  else out.t = cast(as_rows({graph, target}), cost_dtype);
  if (images) out.t = mixed_targets(*images, data, options, out.t);
  if (data.label_of == LabelOf::box && !data.target_is_input) out.boxes = cast(Expr(graph, target), cost_dtype);
  if (data.label_of == LabelOf::step) out.counts = labelled(graph, target, cost_dtype);
  if (data.label_of == LabelOf::step || data.label_of == LabelOf::sequence) out.labels = target;
  return out;
}

Shape input_sample(const DataLayout& data, const StepOptions& options) {
  if (options.augment.empty()) return data.sample;
  Graph scratch;
  const Shape shape = batch_of(scratch, data, std::max<int64_t>(data.train_size, 1), options, true).x.shape();
  return {shape[3], shape[1], shape[2]};
}

namespace {

Expr augmented_images(Graph& graph, const DataLayout& data, const StepOptions& options, bool training) {
  const Value indices = graph.input("indices", DType::i32, {options.batch});
  const Value all = graph.input("data", data.dtype, Shape{data.rows()}.concat(data.stored_sample()));
  ImageBatch images = images_of(graph, data, all, indices, options, training);
  augment(images, options);
  return images.values();
}

}  // namespace

Graph batch_graph(const DataLayout& data, const StepOptions& options) {
  Graph graph;
  graph.output("x", augmented_images(graph, data, options, true));
  return graph;
}

Expr evaluated_images(Graph& graph, const DataLayout& data, const StepOptions& options) {
  return augmented_images(graph, data, options, false);
}

}  // namespace neon
