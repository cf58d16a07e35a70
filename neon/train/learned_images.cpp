#include "neon/train/learned_images.h"

#include <algorithm>

#include "neon/train/batch_feed.h"
#include "neon/train/run_setup.h"

namespace neon {

namespace {

constexpr int64_t kAtOnce = 512;  // images

// Sums over the training images x (views N,H,W,C) as `options` make them in an evaluation, as rows of n numbers.
class ImageSums {
 public:
  ImageSums(const StepOptions& options, const Data& data) : data_(data), options_(options) {
    options_.batch = std::min(kAtOnce, data.train.size());
    options_.share = {};
    FeedOptions feeding;
    feeding.batch = options_.batch;
    feeding.order = SampleOrder::as_given;
    feeding.weight = compute_type(options.dtype);
    feed_ = make_feed(data.train, feeding);
  }

  // Mean (n), and the sums of products of what differs from it, divided by how many there are less 1.
  ImageMoments moments() {
    ImageMoments out;
    out.mean = add_up([](Graph& graph, const Rows& rows) { return Expr(graph, sum(rows.x * rows.weight, {0})); });
    if (count_ < 2) fail(ErrorKind::config, data_.source, ": one image has no covariance; give more");
    for (double& number : out.mean) number /= count_;
    const auto n = int64_t(out.mean.size());
    Tensor& mean = variables_.declare("mean", compute_type(options_.dtype), {n});
    for (int64_t k = 0; k < n; ++k) mean.set(k, out.mean[size_t(k)]);
    out.covariance = add_up([n](Graph& graph, const Rows& rows) {
      const Expr centred = (rows.x - Expr(graph, graph.variable("mean", rows.x.dtype(), {n}))) * rows.weight;
      return Expr(graph, matmul(graph, centred, centred, true, false));
    });
    for (double& number : out.covariance) number /= count_ - 1;
    return out;
  }

 private:
  struct Rows {
    Expr x, weight;  // (views N,n), and (views N,1): 0 for what only fills up the last batch
  };

  // The sums over all batches of what `of_batch` makes of one.
  template <typename OfBatch>
  std::vector<double> add_up(const OfBatch& of_batch) {
    DataLayout layout = layout_of(data_);
    layout.held = feed_->rows();
    Graph graph;
    const Expr x = evaluated_images(graph, layout, options_);
    const int64_t rows = x.shape()[0], views = rows / options_.batch;
    const Expr of_samples(graph, graph.input("weight", x.dtype(), {options_.batch, 1}));
    const Value weight =
        broadcast_to(graph, reshape(graph, of_samples, {1, options_.batch, 1}), {views, options_.batch, 1});
    graph.output("sum", of_batch(graph, {{graph, reshape(graph, x, {rows, x.shape().elements() / rows})},
                                         {graph, reshape(graph, weight, {rows, 1})}}));
    graph.output("count", sum(Expr(graph, weight), {0, 1, 2}));
    const auto program = compile_program(graph, variables_, with_sequences({}));
    feed_->bind(*program);
    std::vector<double> out;
    count_ = 0;
    for (int64_t number = 0; number * options_.batch < data_.train.size(); ++number) {
      feed_->next(*program, number);
      program->run(uint64_t(number));
      const Tensor part = program->output("sum");
      out.resize(size_t(part.elements()));
      dispatch(part.dtype(), [&]<typename T>() {
        const auto values = part.as<T>();
        for (size_t i = 0; i < out.size(); ++i) out[i] += load_as<double>(values[i]);
      });
      count_ += program->output("count").at(0);
    }
    return out;
  }

  const Data& data_;
  StepOptions options_;
  std::unique_ptr<BatchFeed> feed_;
  Variables variables_;
  double count_ = 0;
};

}  // namespace

bool learns_from_images(const StepOptions& options) {
  return std::ranges::any_of(options.augment, &Augmentation::learns);
}

void learn_from_images(const StepOptions& options, const Data& data, Variables& variables) {
  for (size_t k = 0; k < options.augment.size(); ++k) {
    if (!options.augment[k]->learns()) continue;
    StepOptions before = options;
    before.augment.resize(k);
    options.augment[k]->learn(ImageSums(before, data).moments(), variables);
  }
}

}  // namespace neon
