#include "neon/cli/simulation.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "backends/graph/op.h"
#include "backends/ranks/simulated_ranks.h"
#include "neon/cli/kernel_times.h"
#include "neon/cli/session.h"
#include "neon/cli/step_time.h"
#include "neon/train/terminal.h"
#include "neon/train/trainer.h"

namespace neon {

namespace {

constexpr int64_t kTimedSteps = 60, kTimedByKernel = 20;
constexpr int kMostDevices = 1 << 20;

// "2,4,8"
std::vector<int> devices_of(const std::string& list) {
  std::vector<int> out;
  size_t at = 0;
  while (at <= list.size()) {
    const size_t comma = std::min(list.find(',', at), list.size());
    int count = 0;
    const auto [end, fault] = std::from_chars(list.data() + at, list.data() + comma, count);
    if (fault != std::errc() || end != list.data() + comma || count < 1 || count > kMostDevices)
      fail(ErrorKind::config, "--devices takes numbers of devices, as 2,8,64, and not ", in_quotes(list));
    out.push_back(count);
    at = comma + 1;
  }
  return out;
}

// The program of one rank, and how long its kernels take while nothing is exchanged.
struct TimedStep {
  Lowered lowered;
  std::vector<double> kernel_seconds;
  std::string device;
  DType dtype;
};

class Simulation {
 public:
  explicit Simulation(const CommandLine& line) : line_(line), path_(only_operand(line)), spec_(open_spec(line, path_)) {
    options_ = options_of(line, spec_);
    asked_ = choose_backend(line, options_, *spec_.experiment);
    options_.save_path.clear();
    options_.output_file.clear();
    options_.progress_bar = false;
    data_ = load_data(*spec_.experiment, options_, spec_.folder);
    batch_ = step_options(options_, spec_.experiment->params).batch;
  }

  // Throws a config error where the batch is too small for so many.
  void check(int devices) const {
    if (devices > batch_ && !line_.of_verb.each)
      fail(ErrorKind::config, "a batch of ", batch_, " has no sample for each of ", devices,
           " devices; --each takes the batch for that of each device, -z N a larger one");
  }

  int64_t whole_batch(int devices) const { return line_.of_verb.each ? batch_ * devices : batch_; }

  // The program of one of so many ranks. With a batch for each device any number has the program of two.
  const TimedStep& step_of(int devices) {
    const int ranks = line_.of_verb.each ? std::min(devices, 2) : devices;
    const auto found = steps_.find(ranks);
    return found == steps_.end() ? steps_.emplace(ranks, time_step(ranks)).first->second : found->second;
  }

 private:
  TimedStep time_step(int ranks) {
    SimulatedRanks others(ranks);
    RunOptions options = options_;
    options.batch_size = whole_batch(ranks);
    Ranks* const joined = ranks > 1 ? &others : nullptr;
    const auto trainer = spec_.experiment->placing([&] {
      return on_device_or_cpu(options, asked_, [&] {
        return std::make_unique<Trainer>(*spec_.experiment, data_, options, nullptr, std::nullopt, joined);
      });
    });
    StepRunner& steps = trainer->steps();
    const bool gpu = options.backend == "gpu";
    const double whole = median_ms(kTimedSteps, gpu, [&](int64_t count) { steps.repeat(count); });
    TimedStep out{
        steps.program().lowered(), {}, trainer->device_text(), step_options(options, spec_.experiment->params).dtype};
    double sum = 0;
    for (const TimedKernel& kernel : time_kernels(steps, kTimedByKernel)) {
      const bool exchanges = out.lowered.kernels[out.kernel_seconds.size()].traits().exchanges;
      out.kernel_seconds.push_back(exchanges ? 0 : kernel.milliseconds * 1e-3);
      sum += out.kernel_seconds.back();
    }
    // One by one, kernels take longer than in a step that is sent off whole.
    for (double& seconds : out.kernel_seconds) seconds *= whole * 1e-3 / sum;
    return out;
  }

  const CommandLine& line_;
  const std::string path_;
  OpenedSpec spec_;
  RunOptions options_;
  bool asked_ = false;
  Data data_;
  int64_t batch_ = 0;
  std::map<int, TimedStep> steps_;  // by the number of ranks
};

constexpr const char* kExchangeColumns =
    "exchange of kernel         MB        ms   begins at   waited for, ms  layer\n";

std::string exchange_table(const StepTimeline& timeline, const Lowered& lowered) {
  std::string out = kExchangeColumns;
  for (const ExchangeTime& each : timeline.exchanges)
    out += formatted("%18d %10.3f %9.4f %11.4f %16.4f  ", each.kernel, each.bytes * 1e-6, (each.end - each.begin) * 1e3,
                     each.begin * 1e3, each.waited * 1e3) +
           lowered.kernels[size_t(each.kernel)].scope + "\n";
  return out;
}

}  // namespace

Links links_of(const CommandLine& line) {
  const VerbOptions& given = line.of_verb;
  const bool any = given.link || given.latency || given.host_devices || given.network || given.network_latency;
  if (!given.devices && line.ranks == 1 && any)
    fail(ErrorKind::config, "options of links mean nothing on one device; add --devices or -m");
  if (!given.devices && given.each) fail(ErrorKind::config, "--each goes with --devices");
  if (!given.devices && given.slowdown) fail(ErrorKind::config, "--slowdown goes with --devices");
  if (given.devices && line.ranks > 1)
    fail(ErrorKind::config, "--devices simulates other devices than this one; leave out -m");
  Links out;
  if (given.link) out.bandwidth = *given.link * 1e9;
  if (given.latency) out.latency = *given.latency * 1e-6;
  if (given.host_devices) out.host_devices = int(*given.host_devices);
  if (given.network) out.network_bandwidth = *given.network * 1e9;
  if (given.network_latency) out.network_latency = *given.network_latency * 1e-6;
  if (given.slowdown) out.slowdown = *given.slowdown;
  return out;
}

std::string exchange_lines(const Lowered& lowered, int devices, const Links& links) {
  std::vector<double> nothing(lowered.kernels.size());
  std::string out;
  for (const ExchangeTime& each : simulate_step(lowered, nothing, devices, links).exchanges)
    out +=
        formatted("exchange of kernel %d: %zu arrays, %.3f MB, %.4f ms\n", each.kernel,
                  lowered.kernels[size_t(each.kernel)].inputs.size(), each.bytes * 1e-6, (each.end - each.begin) * 1e3);
  return out;
}

int run_simulation(const CommandLine& line) {
  const std::vector<int> counts = devices_of(*line.of_verb.devices);
  const Links links = links_of(line);
  Simulation simulation(line);
  for (const int devices : counts) simulation.check(devices);
  const TimedStep& alone = simulation.step_of(1);
  const auto seconds_of = [](const TimedStep& step, int devices, const Links& links) {
    return simulate_step(step.lowered, step.kernel_seconds, devices, links);
  };
  const double one = seconds_of(alone, 1, links).seconds;
  const double rate = double(simulation.whole_batch(1)) / one;
  print_result(text(name_of(alone.dtype), ", kernels timed on ", alone.device, "; links of ", links.bandwidth * 1e-9,
                    " GB/s and ", links.latency * 1e6, " us in hosts of ", links.host_devices, " devices, of ",
                    links.network_bandwidth * 1e-9, " GB/s and ", links.network_latency * 1e6,
                    " us between hosts, kernels ", links.slowdown, " times as long beside an exchange"));
  std::string rows = "devices    batch    step, ms   exchanges, ms   waited, ms     samples/s   of as many alone\n";
  rows += formatted("%7d %8lld %11.4f %15.4f %12.4f %13.0f %18.3f\n", 1, (long long)simulation.whole_batch(1),
                    one * 1e3, 0.0, 0.0, rate, 1.0);
  std::string exchanges;
  for (const int devices : counts) {
    if (devices == 1) continue;
    const TimedStep& step = simulation.step_of(devices);
    const StepTimeline timeline = seconds_of(step, devices, links);
    const int64_t batch = simulation.whole_batch(devices);
    const double reached = double(batch) / timeline.seconds;
    rows +=
        formatted("%7d %8lld %11.4f %15.4f %12.4f %13.0f %18.3f\n", devices, (long long)batch, timeline.seconds * 1e3,
                  timeline.exchanged() * 1e3, timeline.waited() * 1e3, reached, reached / rate / devices);
    if (exchanges.empty()) exchanges = text("on ", devices, " devices:\n") + exchange_table(timeline, step.lowered);
  }
  print_lines(rows + exchanges);
  return 0;
}

}  // namespace neon
