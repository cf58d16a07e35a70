// Paths between groups against a search of the whole graph, and what finding and joining costs as nets grow deeper.
#include "backends/graph/group_paths.h"

#include <time.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/device/device.h"
#include "models/step_graph.h"
#include "neon/core/random.h"
#include "neon/core/setting.h"

using namespace neon;

namespace {

using Edges = std::vector<std::vector<int>>;

// Groups as lists of nodes, and paths by going wherever there are edges.
struct Naive {
  const Edges& next;
  std::vector<int> group_of;

  bool leads_outside(int from, int to) const {
    std::vector<bool> seen(next.size());
    std::vector<int> queue;
    auto expand = [&](int group, bool first) {
      for (size_t n = 0; n < next.size(); ++n)
        for (int s : group_of[n] == group ? next[n] : std::vector<int>{}) {
          const int g = group_of[size_t(s)];
          if (g == from || (first && g == to) || seen[size_t(g)]) continue;
          seen[size_t(g)] = true;
          queue.push_back(g);
        }
    };
    expand(from, true);
    while (!queue.empty()) {
      const int group = queue.back();
      queue.pop_back();
      if (group == to) return true;
      expand(group, false);
    }
    return false;
  }
};

// Edges to later nodes by the numbers of a hidden order, so that numbers say nothing.
Edges random_edges(Stream& stream, int count, int reach) {
  std::vector<int> order(static_cast<size_t>(count));
  for (int n = 0; n < count; ++n) order[size_t(n)] = n;
  for (int n = count; n-- > 1;) std::swap(order[size_t(n)], order[stream.below(uint64_t(n) + 1)]);
  Edges next(static_cast<size_t>(count));
  for (int n = 1; n < count; ++n)
    for (uint64_t k = stream.below(3) + 1; k-- > 0;) {
      const int from = std::max(0, n - 1 - int(stream.below(uint64_t(reach))));
      std::vector<int>& of = next[size_t(order[size_t(from)])];
      if (!std::ranges::count(of, order[size_t(n)])) of.push_back(order[size_t(n)]);
    }
  return next;
}

// A chain of products there and back, as training has it: what lies between two products is joined with what its
// gradient needs only where no product lies between, and so never. Returns edges followed.
int64_t edges_followed(int layers) {
  Edges next;
  std::vector<bool> joins;
  auto node = [&](bool may_join) {
    next.emplace_back();
    joins.push_back(may_join);
    return int(next.size()) - 1;
  };
  std::vector<int> forward, backward;
  int last = node(true);
  for (int layer = 0; layer < 2 * layers; ++layer) {
    const int product = node(false), first = node(true), second = node(true);
    next[size_t(last)].push_back(product), next[size_t(product)].push_back(first),
        next[size_t(first)].push_back(second);
    last = second;
    if (layer < layers) {
      forward.push_back(second);
    } else {
      next[size_t(forward[size_t(2 * layers - 1 - layer)])].push_back(first);
      const int gradient = node(false), update = node(true);
      next[size_t(second)].push_back(gradient), next[size_t(gradient)].push_back(update);
      backward.push_back(first);
    }
  }
  GroupPaths paths(next, joins);
  for (int layer = 0; layer < layers; ++layer)
    CHECK(paths.leads_outside(forward[size_t(layer)], backward[size_t(layers - 1 - layer)]));
  for (int n = 0; n < int(next.size()); ++n)
    for (int s : next[size_t(n)])
      if (joins[size_t(n)] && joins[size_t(s)] && !paths.leads_outside(n, s)) paths.join(n, s);
  return paths.followed();
}

// Seconds of this thread for the program of a training step.
double compile_seconds(int layers) {
  const auto word = [](const char* value) { return Setting::scalar(value); };
  const Setting affine = Setting::map({{"Affine",
                                        Setting::map({{"nout", word("8"), {}},
                                                      {"init", word("Kaiming"), {}},
                                                      {"batch_norm", word("true"), {}},
                                                      {"activation", word("Rectlin"), {}}}),
                                        {}}});
  timespec before{}, after{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  Problems problems;
  const Network network(Setting::list(std::vector<Setting>(size_t(layers), affine)), problems);
  problems.throw_if_any();
  DataLayout data;
  data.sample = {8}, data.target = {8}, data.train_size = 64;
  const auto cost = Registry<Cost>::get().create(word("SumSquared"));
  const auto rule = Registry<Optimizer>::get().create(word("Adam"));
  StepOptions options;
  options.batch = 16;
  const StepGraph step = training_graph(network, *cost, *rule, data, options);
  Variables variables;
  const auto program = compile_program(step.graph, variables, {});
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
  return double(after.tv_sec - before.tv_sec) + 1e-9 * double(after.tv_nsec - before.tv_nsec);
}

}  // namespace

TEST_CASE("paths between groups are those of a search of everything, while groups are joined") {
  Stream stream(5, "paths");
  for (int turn = 0; turn < 60; ++turn) {
    const int count = 5 + int(stream.below(60));
    const Edges next = random_edges(stream, count, turn % 2 ? 4 : 30);
    std::vector<bool> joins;
    for (int n = 0; n < count; ++n) joins.push_back(stream.below(turn % 3 ? 4 : 12) != 0);
    GroupPaths paths(next, joins);
    Naive naive{next, {}};
    for (int n = 0; n < count; ++n) naive.group_of.push_back(n);
    int wrong = 0, joined = 0;
    for (int attempt = 0; attempt < 6 * count; ++attempt) {
      int a = naive.group_of[stream.below(uint64_t(count))], b = naive.group_of[stream.below(uint64_t(count))];
      // Often along an edge, as grouping goes.
      const auto& after = next[size_t(a)];
      if (attempt % 3 && !after.empty()) b = naive.group_of[size_t(after[stream.below(after.size())])];
      if (a == b || !joins[size_t(a)] || !joins[size_t(b)]) continue;
      const bool outside = paths.leads_outside(a, b);
      wrong += outside != (naive.leads_outside(a, b) || naive.leads_outside(b, a));
      if (outside || attempt % 2) continue;
      paths.join(a, b);
      std::ranges::replace(naive.group_of, b, a);
      ++joined;
    }
    CHECK(wrong == 0);
    CHECK(joined > 0);
  }
}

TEST_CASE("many groups put behind one place still stand in order") {
  // Node 0 leads to all others, which are joined with it one after the other in turns that move many.
  constexpr int kCount = 1000;
  Edges next(kCount);
  for (int n = 1; n + 1 < kCount; ++n) next[0].push_back(n), next[size_t(n)].push_back(kCount - 1);
  const std::vector<bool> joins(kCount, true);
  GroupPaths paths(next, joins);
  int refused = 0;
  for (int n = kCount - 2; n > 0; --n) {
    CHECK(paths.leads_outside(0, kCount - 1));
    if (paths.leads_outside(0, n)) ++refused;
    else paths.join(0, n);
  }
  CHECK(refused == 0);
  CHECK_FALSE(paths.leads_outside(0, kCount - 1));
}

TEST_CASE("joining costs as much for each layer of a deep net as of a shallow one") {
  const int64_t shallow = edges_followed(500), deep = edges_followed(1000);
  CHECK(shallow > 0);
  CHECK(double(deep) < 2.5 * double(shallow));
}

TEST_CASE("making a program takes at most 2.5 times as long for each doubling of its layers") {
  // Linear work takes up to 2.3 times as long, since the larger program leaves the caches; quadratic work takes 4
  // times. Another program may slow one of them down, so the least of several counts, and over three doublings.
  const double most = 2.5 * 2.5 * 2.5;
  double shallow = 1e9, deep = 1e9;
  for (int turn = 0; turn < 12 && (turn < 2 || deep >= most * shallow); ++turn) {
    shallow = std::min(shallow, compile_seconds(40));
    deep = std::min(deep, compile_seconds(320));
  }
  CHECK(deep < most * shallow);
}
