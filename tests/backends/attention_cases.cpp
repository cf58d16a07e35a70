#include "tests/backends/attention_cases.h"

#include <algorithm>
#include <cmath>

namespace neon::test {

namespace {

struct AttentionCase {
  int64_t samples, queries, keys, heads, key_heads, size;
  bool causal = false;
  std::vector<double> lengths = {};
  double keep = 1;
  int64_t first = 0;
};

std::vector<AttentionCase> all_attention_cases() {
  return {{2, 3, 3, 2, 2, 4},
          {1, 1, 1, 1, 1, 1},
          {2, 4, 4, 2, 2, 3, true},
          {2, 3, 5, 2, 1, 4},
          {1, 3, 5, 4, 2, 2, true},
          {3, 4, 4, 2, 1, 3, false, {4, 2, 0}},
          {3, 4, 4, 1, 1, 2, true, {3, 0, 4}},
          {2, 3, 4, 2, 2, 2, false, {}, 0.75},
          {2, 3, 4, 4, 2, 2, true, {2, 4}, 0.5},
          {1, 70, 70, 2, 1, 8, true},
          {2, 37, 150, 2, 2, 20, false, {150, 65}},
          {2, 150, 160, 4, 2, 16, true, {160, 70}, 0.75},
          {2, 5, 70, 2, 1, 16, false, {}, 0.5, 3},
          {1, 140, 200, 2, 1, 128},
          {1, 290, 290, 1, 1, 40, true},
          {1, 130, 131, 1, 1, 64, true}};
}

// Whole tiles of 64 steps.
std::vector<AttentionCase> tiled_cases() {
  return {
      {2, 128, 128, 2, 2, 64, true}, {1, 192, 128, 3, 3, 64}, {1, 128, 192, 1, 1, 128}, {1, 192, 192, 1, 1, 40, true}};
}

std::vector<OpCase> cases_of(const std::vector<AttentionCase>& cases, const std::string& op) {
  const bool gradient = op.ends_with("_grad");
  std::vector<OpCase> out;
  for (const auto& [n, t, s, h, kv, d, causal, lengths, keep, first] : cases) {
    // Products of queries and keys have a deviation of 2/3.
    Attributes attributes = {{"scale", 0.5 / std::sqrt(double(d))}, {"causal", int64_t(causal)}};
    if (keep < 1) attributes = attributes.with("keep", keep).with("seed", int64_t(9)).with("stream", std::string("a"));
    if (first > 0) attributes = attributes.with("first", first);
    OpCase c{op,
             text(n, " samples, ", t, " queries of ", h, " heads, ", s, " keys of ", kv, ", size ", d, ", ", attributes,
                  lengths.empty() ? "" : ", padded"),
             {}};
    const CaseInput queries{{n, t, h, d}}, keys{{n, s, kv, d}};
    c.inputs = {queries, keys, keys};
    if (gradient) {
      CaseInput sums{{n, h, t}, std::log(double(s)), std::log(double(s)) + 1};  // of the size that they have
      sums.arithmetic = true;
      c.inputs.insert(c.inputs.end(), {queries, sums, queries});
    }
    if (!lengths.empty()) c.inputs.push_back({{n}, 0, 1, DType::i32, lengths});
    c.attributes = attributes;
    c.length = s * d * (h / kv);
    c.fast = "attention";
    c.stores = 8;  // of the weights, and of what is multiplied by them
    out.push_back(c);
  }
  return out;
}

}  // namespace

std::vector<OpCase> attention_cases(const std::string& op) { return cases_of(all_attention_cases(), op); }

std::vector<OpCase> tiled_attention_cases(const std::string& op) { return cases_of(tiled_cases(), op); }

std::vector<OpCase> rotary_cases(const std::string& op) {
  std::vector<OpCase> out;
  auto add = [&](const Shape& shape, double base, double sign, const std::vector<double>& first = {}) {
    const double last = double(shape[1]) + (first.empty() ? 0 : std::ranges::max(first));
    out.push_back({op,
                   text(shape, " base ", base, sign < 0 ? " back" : "", first.empty() ? "" : " from given positions"),
                   {{shape}},
                   {{"base", base}, {"sign", sign}},
                   2 * int64_t(last),  // an angle is rounded by its size, that of a step's number
                   "definition"});
    if (!first.empty()) out.back().inputs.push_back({{shape[0]}, 0, 1, DType::i32, first});
  };
  add({2, 3, 2, 4}, 10000, 1), add({1, 1, 1, 2}, 10000, 1), add({2, 5, 1, 6}, 100, -1), add({1, 40, 3, 8}, 10, 1);
  add({3, 2, 2, 4}, 100, 1, {0, 7, 20});
  return out;
}

}  // namespace neon::test
