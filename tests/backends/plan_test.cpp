// Where a step's values lie in their arena, and what they leave free while a kernel runs.
#include "backends/graph/plan.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/graph/op.h"
#include "tests/backends/nets.h"

using namespace neon;
using namespace neon::test;

namespace {

bool meets(const Buffer& buffer, size_t kernel, size_t place, size_t bytes) {
  const bool alive = buffer.bytes && buffer.first <= int(kernel) && int(kernel) <= buffer.last;
  return alive && place < buffer.offset + buffer.bytes && buffer.offset < place + bytes;
}

// By looking at every place there is.
std::optional<size_t> first_free(const Lowered& lowered, size_t kernel, size_t bytes) {
  for (size_t place = 0; place + bytes <= lowered.arena_bytes; place += 256)
    if (std::ranges::none_of(lowered.buffers, [&](const Buffer& b) { return meets(b, kernel, place, bytes); }))
      return place;
  return std::nullopt;
}

}  // namespace

TEST_CASE("what a kernel may work in is what no value needs that is alive") {
  Lowered lowered;
  lowered.arena_bytes = 4096;
  lowered.buffers = {{.offset = 2048, .bytes = 1000, .first = 0, .last = 9},
                     {.offset = 0, .bytes = 100, .first = 0, .last = 2},
                     {},
                     {.offset = 128, .bytes = 1900, .first = 2, .last = 4}};
  CHECK(free_place(lowered, 0, 1792) == 256);
  CHECK(free_place(lowered, 0, 1793) == std::nullopt);
  CHECK(free_place(lowered, 2, 768) == 3072);  // between 100 and 128 nothing begins at a multiple of 256
  CHECK(free_place(lowered, 2, 1025) == std::nullopt);
  CHECK(free_place(lowered, 4, 128) == 0);
  CHECK(free_place(lowered, 5, 2048) == 0);
  CHECK(free_place(lowered, 10, 4096) == 0);
  CHECK(free_place(lowered, 10, 4097) == std::nullopt);
}

TEST_CASE("free places of whole steps are the first that there are") {
  size_t found = 0, full = 0;
  for (const Net& net : {mnist_small(), three_layers(), images(), modules()}) {
    Variables variables;
    const auto program = net.compile(variables);
    const Lowered& lowered = program->lowered();
    for (size_t k = 0; k < lowered.kernels.size(); ++k)
      for (const double share : {0.01, 0.1, 0.3, 0.7}) {
        const size_t bytes = size_t(share * double(lowered.arena_bytes)) + 1;
        const auto place = free_place(lowered, k, bytes);
        CHECK(place == first_free(lowered, k, bytes));
        (place ? found : full) += 1;
      }
  }
  CHECK(found > 20);
  CHECK(full > 20);
}

TEST_CASE("the largest array is named by its layer, where it is of one") {
  const auto named = [](const std::string& layer) {
    Graph graph;
    const Scope scope(graph, layer);
    const Value x = graph.input("x", DType::f32, {100, 2}), y = graph.input("y", DType::f32, {2, 80});
    graph.assign(graph.variable("w", DType::f32, {80}), sum_to_shape(graph, matmul(graph, x, y), {80}));
    return largest_array(lower(graph));
  };
  CHECK(named("Affine_0") == "a value of Affine_0, f32 (100, 80): 31.2 KiB");
  CHECK(named("") == "a value, f32 (100, 80): 31.2 KiB");
}
