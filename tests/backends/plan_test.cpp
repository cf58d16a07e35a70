// Where a step's values lie, and what kernels work in.
#include "backends/graph/plan.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/graph/op.h"
#include "backends/graph/taken_bytes.h"
#include "neon/core/random.h"
#include "tests/backends/nets.h"

using namespace neon;
using namespace neon::test;

namespace {

bool lie_apart(const Buffer& a, const Buffer& b) {
  return !a.bytes || !b.bytes || a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
}

// For every so many kernels, up to so many bytes.
std::vector<size_t> drawn_workspaces(size_t kernels, size_t every, size_t bytes) {
  std::vector<size_t> out(kernels);
  for (size_t k = 1; k < kernels; k += every) out[k] = bytes / (1 + k % 3) + k;
  return out;
}

// The lowest of the offsets 0 and behind others at which the buffer meets no other of its time.
size_t lowest_offset(const Buffer& buffer, const std::vector<Buffer>& others) {
  const auto is_free = [&](size_t offset) {
    return std::ranges::none_of(others, [&](const Buffer& other) {
      const bool meet = buffer.first <= other.last && other.first <= buffer.last;
      return meet && offset < other.offset + other.bytes && other.offset < offset + buffer.bytes;
    });
  };
  size_t lowest = is_free(0) ? 0 : SIZE_MAX;
  for (const Buffer& other : others)
    if (const size_t end = other.offset + other.bytes; end < lowest && is_free(end)) lowest = end;
  return lowest;
}

}  // namespace

TEST_CASE("bytes are taken at the lowest offset where they are free") {
  Stream stream(7, "lifetimes");
  for (int turn = 0; turn < 200; ++turn) {
    const int kernels = 1 + int(stream.below(40));
    TakenBytes taken(kernels);
    std::vector<Buffer> buffers;
    int wrong = 0;
    for (int n = 0; n < 60; ++n) {
      Buffer buffer{.bytes = 1 + stream.below(turn % 2 ? 4 : 100), .first = int(stream.below(uint32_t(kernels)))};
      // Some live to the end, as in training.
      const int rest = kernels - buffer.first;
      buffer.last = buffer.first + (n % 3 ? int(stream.below(uint32_t(rest))) : rest - 1);
      buffer.offset = lowest_offset(buffer, buffers);
      wrong += taken.take(buffer.first, buffer.last, buffer.bytes) != buffer.offset;
      buffers.push_back(buffer);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("what a kernel works in lies among the values of its time, and results in a memory of their own") {
  constexpr size_t kMiB = size_t(1) << 20;
  Lowered lowered;
  lowered.kernels.resize(3);
  lowered.buffers = {{.bytes = kMiB, .first = 0, .last = 1},
                     {.bytes = 2 * kMiB, .first = 1, .last = 2},
                     {},
                     {.bytes = 100, .first = 0, .last = 3},   // of a kernel that runs once
                     {.bytes = 100, .first = 2, .last = 3}};  // a result
  // The largest first, at 0: what kernel 0 works in and, as that has ended by then, the second value. The first lives
  // beside both, so it comes after the larger of them.
  const SharedPlaces places = place_shared(lowered, {3 * kMiB, 0, 1});
  CHECK(places.workspaces[0] == 0);
  CHECK(lowered.buffers[1].offset == 0);
  CHECK(lowered.buffers[0].offset == 3 * kMiB);
  CHECK(places.workspaces[2] == 2 * kMiB);
  CHECK(places.scratch == 4 * kMiB);
  CHECK(lowered.buffers[3].offset == 0);
  CHECK(lowered.buffers[4].offset == 256);
  CHECK(places.kept == 512);
}

TEST_CASE("in whole steps nothing that is alive meets another value, or what a kernel works in") {
  for (const Net& net : {mnist_small(), three_layers(), images(), modules()})
    for (const size_t every : {1, 3, 1000})
      for (const double share : {0.0, 0.2, 1.0, 3.0}) {
        Variables variables;
        const auto program = net.compile(variables);
        Lowered lowered = program->lowered();
        const size_t kernels = lowered.kernels.size(), before = lowered.arena_bytes;
        const auto workspaces = drawn_workspaces(kernels, every, size_t(share * double(before)));
        const SharedPlaces places = place_shared(lowered, workspaces);
        size_t kept = 0, most = 0, results = 0;
        for (const Buffer& one : lowered.buffers) {
          if (!one.bytes) continue;
          const bool later = is_read_later(lowered, one);
          CHECK((one.offset % 256 == 0 && one.offset + one.bytes <= (later ? places.kept : places.scratch)));
          kept += later ? (one.bytes + 255) / 256 * 256 : 0;
          results += later;
          for (const Buffer& other : lowered.buffers)
            if (&one != &other && later == is_read_later(lowered, other) && one.first <= other.last &&
                other.first <= one.last)
              CHECK(lie_apart(one, other));
        }
        for (size_t k = 0; k < kernels; ++k) {
          const Buffer work{places.workspaces[k], workspaces[k], int(k), int(k)};
          CHECK((work.offset % 256 == 0 && work.offset + work.bytes <= places.scratch));
          size_t alive = work.bytes;
          for (const Buffer& buffer : lowered.buffers) {
            if (is_read_later(lowered, buffer) || buffer.first > int(k) || buffer.last < int(k)) continue;
            CHECK(lie_apart(work, buffer));
            alive += buffer.bytes;
          }
          most = std::max(most, alive);
        }
        CHECK(results > 0);
        CHECK(places.kept == kept);
        CHECK(places.scratch >= most);
        CHECK(double(places.scratch) <= 1.3 * double(most) + 4096);  // seen: 1.2
      }
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
