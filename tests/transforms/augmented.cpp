#include "tests/transforms/augmented.h"

#include <algorithm>

#include "neon/core/random.h"

using namespace neon;

namespace neon_test {

float drawn(int64_t n, int64_t k, uint64_t epoch) {
  Stream stream(kSeed, "augment/0", epoch);
  uint32_t bits = 0;
  for (int64_t skip = 0; skip <= 16 * n + k; ++skip) bits = stream.bits();
  return uniform_from_bits(bits);
}

void Augmented::run(uint64_t step, uint64_t epoch) {
  for (size_t i = 0; i < which.size(); ++i)
    samples.set(2 * int64_t(i), which[i]), samples.set(2 * int64_t(i) + 1, double(epoch));
  program->bind("samples", samples.data());
  program->run(step);
}

std::unique_ptr<Augmented> make(const std::string& list, const Picture& picture, const Arithmetic& arithmetic,
                                bool training, std::vector<double> means, int threads, std::vector<int32_t> which) {
  auto made = std::make_unique<Augmented>();
  Graph graph;
  const auto batch_size = int64_t(which.size());
  const Shape shape{1 + *std::ranges::max_element(which), picture.height, picture.width, picture.channels};
  made->data = Tensor(DType::u8, shape);
  for (int64_t i = 0; i < made->data.elements(); ++i) {
    const int64_t c = i % picture.channels, x = i / picture.channels % picture.width;
    const int64_t y = i / (picture.channels * picture.width) % picture.height;
    made->data.set(i, picture.byte(i / (picture.channels * picture.width * picture.height), y, x, c));
  }
  made->indices = Tensor(DType::i32, {batch_size});
  for (int64_t i = 0; i < batch_size; ++i) made->indices.set(i, which[size_t(i)]);
  ImageBatch batch(graph, graph.input("data", DType::u8, shape), graph.input("indices", DType::i32, {batch_size}),
                   {kScale, kBlack}, arithmetic.dtype, training, kSeed);
  batch.means = std::move(means);
  const Setting settings = yaml_of(list);
  for (const Setting& item : settings.items) Registry<Augmentation>::get().create(item)->apply(batch);
  graph.output("y", batch.values());
  if (!batch.mixture.empty()) {
    made->targets = Tensor(arithmetic.dtype, {batch_size, batch_size});
    for (int64_t i = 0; i < made->targets.elements(); ++i) made->targets.set(i, i % (batch_size + 1) == 0);
    graph.output("t", batch.mixture.of({graph, graph.input("t", arithmetic.dtype, {batch_size, batch_size})}));
  }
  ProgramOptions options = arithmetic.options;
  options.threads = threads;
  made->program = compile_for_cpu(graph, made->variables, options);
  made->program->bind("data", made->data.data());
  made->program->bind("indices", made->indices.data());
  if (!batch.mixture.empty()) made->program->bind("t", made->targets.data());
  made->samples = Tensor(DType::i32, {batch_size, 2});
  made->which = std::move(which);
  made->run(kStep, kEpoch);
  return made;
}

Image seen(const Picture& p, int64_t n) {
  Image out;
  for (int64_t y = 0; y < p.height; ++y)
    for (int64_t x = 0; x < p.width; ++x)
      for (int64_t c = 0; c < p.channels; ++c) out.push_back(p.at(n, y, x, c));
  return out;
}

namespace {

// The value at row v and column u, between the middles of pixels.
double between(const Picture& p, const Image& image, double v, double u, int64_t c) {
  v = std::clamp(v, 0.0, double(p.height - 1)), u = std::clamp(u, 0.0, double(p.width - 1));
  const auto top = int64_t(v), left = int64_t(u);
  const double a = v - double(top), b = u - double(left);
  auto pixel = [&](int64_t row, int64_t column) {
    return image[size_t((std::min(row, p.height - 1) * p.width + std::min(column, p.width - 1)) * p.channels + c)];
  };
  return (1 - a) * ((1 - b) * pixel(top, left) + b * pixel(top, left + 1)) +
         a * ((1 - b) * pixel(top + 1, left) + b * pixel(top + 1, left + 1));
}

}  // namespace

Image warped(const Picture& p, const Image& image, const std::array<double, 6>& by) {
  Image out;
  for (int64_t y = 0; y < p.height; ++y)
    for (int64_t x = 0; x < p.width; ++x)
      for (int64_t c = 0; c < p.channels; ++c) {
        const double middle_row = double(p.height - 1) / 2, middle_column = double(p.width - 1) / 2;
        const double v = double(y) - middle_row, u = double(x) - middle_column;
        out.push_back(between(p, image, middle_row + by[0] * v + by[1] * u + by[4],
                              middle_column + by[2] * v + by[3] * u + by[5], c));
      }
  return out;
}

}  // namespace neon_test
