#include "neon/train/position_json.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "neon/core/error.h"
#include "neon/core/text.h"

namespace neon {

using nlohmann::json;

std::string exact_text(double value) { return number(value); }

double read_exact(const json& value) {
  const auto written = value.get<std::string>();
  char* end = nullptr;
  const double out = std::strtod(written.c_str(), &end);
  if (written.empty() || *end) fail(ErrorKind::data, value.dump(), " is no number");
  return out;
}

namespace {

json exact_numbers(const std::vector<double>& values) {
  json out = json::array();
  for (const double value : values) out.push_back(exact_text(value));
  return out;
}

// A number that the key may have; anything else would go on from nowhere without a word.
uint64_t whole_number(const json& j, const char* key, uint64_t least, uint64_t most) {
  const json& value = j.at(key);
  if (!value.is_number_unsigned() || value.get<uint64_t>() < least || value.get<uint64_t>() > most)
    fail(ErrorKind::data, key, " is ", value.dump());
  return value.get<uint64_t>();
}

double finite_number(const json& j, const char* key, double least) {
  const double value = read_exact(j.at(key));
  if (!std::isfinite(value) || value < least) fail(ErrorKind::data, key, " is ", j.at(key).dump());
  return value;
}

}  // namespace

json write_position(const Position& p) {
  return {{"epoch", p.epoch},
          {"step_in_epoch", p.step_in_epoch},
          {"step", p.step},
          {"cost_sum", exact_text(p.cost_sum)},
          {"samples", p.counted},
          {"output_cost_sums", exact_numbers(p.output_cost_sums)},
          {"loss_scale", exact_text(p.loss_scale)},
          {"good_steps", p.good_steps},
          {"skipped", p.skipped},
          {"updates", p.updates},
          {"spoilt", p.spoilt},
          {"seed", p.seed},
          {"seconds", exact_text(p.seconds)},
          {"epoch_seconds", exact_text(p.epoch_seconds)},
          {"best", p.best ? exact_text(*p.best) : ""},
          {"best_cost", p.best_cost ? exact_text(*p.best_cost) : ""},
          {"best_epoch", p.best_epoch},
          {"best_of", p.best_of},
          {"threads", p.threads},
          {"ranks", p.ranks},
          {"timed", p.timed},
          {"phase", p.phase},
          {"phase_first", p.phase_first},
          {"simd", p.simd},
          {"version", p.version},
          {"device", p.device},
          {"cuda", p.cuda},
          {"data", p.data}};
}

Position read_position(const json& j) {
  constexpr uint64_t kMost = uint64_t(1) << 53;
  constexpr double kLowest = std::numeric_limits<double>::lowest();
  Position p;
  p.epoch = int64_t(whole_number(j, "epoch", 0, 1'000'000'000));
  p.step_in_epoch = int64_t(whole_number(j, "step_in_epoch", 0, kMost));
  p.step = int64_t(whole_number(j, "step", 0, kMost));
  p.cost_sum = finite_number(j, "cost_sum", kLowest);
  p.counted = int64_t(whole_number(j, "samples", 0, kMost));
  for (const json& sum : j.value("output_cost_sums", json::array())) {
    p.output_cost_sums.push_back(read_exact(sum));
    if (!std::isfinite(p.output_cost_sums.back())) fail(ErrorKind::data, "output_cost_sums has ", sum.dump());
  }
  p.loss_scale = finite_number(j, "loss_scale", 1);
  p.good_steps = int64_t(whole_number(j, "good_steps", 0, kMost));
  p.skipped = int64_t(whole_number(j, "skipped", 0, kMost));
  p.updates = j.contains("updates") ? int64_t(whole_number(j, "updates", 0, uint64_t(p.step))) : -1;
  p.spoilt = j.value("spoilt", false);
  p.seed = whole_number(j, "seed", 0, ~uint64_t(0));
  p.seconds = finite_number(j, "seconds", 0);
  if (j.contains("epoch_seconds")) p.epoch_seconds = finite_number(j, "epoch_seconds", 0);
  if (j.contains("best")) {  // older checkpoints do not say
    if (j.at("best") != "") p.best = finite_number(j, "best", kLowest);
    if (j.value("best_cost", "") != "") p.best_cost = finite_number(j, "best_cost", kLowest);
    p.best_epoch = int64_t(whole_number(j, "best_epoch", 0, uint64_t(p.epoch)));
    p.best_of = j.value("best_of", "");
  }
  p.threads = int64_t(whole_number(j, "threads", 1, 1 << 20));
  if (j.contains("ranks")) p.ranks = int64_t(whole_number(j, "ranks", 1, 1 << 20));
  p.timed = j.value("timed", false);  // older checkpoints do not say
  p.phase = j.value("phase", "");
  p.phase_first = j.contains("phase_first") ? int64_t(whole_number(j, "phase_first", 0, 1'000'000'000)) : 0;
  p.simd = j.at("simd").get<std::string>();
  p.version = j.at("version").get<std::string>();
  p.device = j.value("device", "");
  p.cuda = j.value("cuda", "");
  p.data = j.at("data").get<std::string>();
  return p;
}

}  // namespace neon
