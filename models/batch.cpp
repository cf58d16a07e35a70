#include "models/batch.h"

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

// The samples that `indices` names, as they are augmented: values() is (views N,H,W,C).
ImageBatch augmented(Graph& graph, const DataLayout& data, Value all, Value indices, const StepOptions& options,
                     bool training) {
  if (data.sample.rank() != 3)
    fail(ErrorKind::config, "augment: is for images (C, H, W), the samples are ", data.sample, "; leave it out");
  if (!data.channels_last) {
    all = transpose(graph, gather(graph, all, indices), {0, 2, 3, 1});
    indices = {};
  }
  ImageBatch batch(graph, all, indices, {data.scale, data.shift}, compute_type(options.dtype), training, options.seed);
  batch.means = data.means;
  try {
    for (const Augmentation* augmentation : options.augment) augmentation->apply(batch);
  } catch (const Error& error) {
    throw Error(error.kind(), text("augment: ", error.what()));
  }
  return batch;
}

}  // namespace

Batch batch_of(Graph& graph, const DataLayout& data, int64_t set_size, const StepOptions& options, bool training) {
  Scope scope(graph, "batch");
  const Shape rows{set_size};
  Value indices = graph.input("indices", DType::i32, {options.batch});
  Value all = graph.input("data", data.data_dtype, rows.concat(data.stored_sample()));
  Batch out;
  Expr x;
  if (options.augment.empty()) {
    x = scaled({graph, gather(graph, all, indices)}, data, compute_type(options.dtype));
  } else {
    ImageBatch images = augmented(graph, data, all, indices, options, training);
    x = images.values();
    out.views = images.views();
  }
  out.x = cast(normalized(x, data, channels_last(data, options)), options.dtype);
  const DType cost_dtype = options.dtype == DType::f64 ? DType::f64 : DType::f32;
  if (data.target_is_input) {
    out.t = cast(as_rows(out.x), cost_dtype);
    return out;
  }
  Expr target(graph, gather(graph, graph.input("targets", data.target_dtype, rows.concat(data.target)), indices));
  if (data.classes > 0) {
    Expr classes(graph, iota(graph, {1, data.classes}, 1));
    target = apply("equal", target, classes);
  }
  out.t = cast(as_rows(target), cost_dtype);
  return out;
}

Shape input_sample(const DataLayout& data, const StepOptions& options) {
  if (options.augment.empty()) return data.sample;
  Graph scratch;
  const Shape shape = batch_of(scratch, data, std::max<int64_t>(data.train_size, 1), options, true).x.shape();
  return {shape[3], shape[1], shape[2]};
}

Graph batch_graph(const DataLayout& data, const StepOptions& options) {
  Graph graph;
  const Value indices = graph.input("indices", DType::i32, {options.batch});
  const Value all = graph.input("data", data.data_dtype, Shape{data.rows()}.concat(data.stored_sample()));
  graph.output("x", augmented(graph, data, all, indices, options, true).values());
  return graph;
}

}  // namespace neon
