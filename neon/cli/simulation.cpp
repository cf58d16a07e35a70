#include "neon/cli/simulation.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include "backends/graph/op.h"
#include "backends/ranks/simulated_ranks.h"
#include "neon/cli/kernel_times.h"
#include "neon/cli/session.h"
#include "neon/cli/step_time.h"
#include "neon/core/counted.h"
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
      fail(ErrorKind::config, "--devices takes numbers of devices up to ", kMostDevices, ", as 2,8,64, and not ",
           in_quotes(list));
    out.push_back(count);
    at = comma + 1;
  }
  return out;
}

// A program of one rank, and how long its kernels take while nothing is exchanged.
struct TimedProgram {
  Lowered lowered;
  std::vector<double> kernel_seconds;
  int64_t steps = 1;  // of those for one update
};

// The programs of the steps for one update: the one that updates, and the one that only adds up gradients, if there is.
struct TimedStep {
  std::vector<TimedProgram> programs;
  std::string device;
  DType dtype;
  int64_t steps() const {
    int64_t out = 0;
    for (const TimedProgram& each : programs) out += each.steps;
    return out;
  }
};

TimedProgram timed(StepRunner& runner, bool adding, int64_t steps) {
  const Program& program = runner.program(adding);
  TimedProgram out{program.lowered(), {}, steps};
  for (const TimedKernel& kernel : time_kernels(program, kTimedByKernel, [&] { return runner.time_kernels(adding); })) {
    const bool exchanges = out.lowered.kernels[out.kernel_seconds.size()].traits().exchanges;
    out.kernel_seconds.push_back(exchanges ? 0 : kernel.milliseconds * 1e-3);
  }
  return out;
}

// A step, in the mean over those for one update; and the exchanges of the one that updates.
struct MeanStep {
  double seconds = 0, exchanged = 0, waited = 0;
  StepTimeline updating;
};

MeanStep mean_step(const TimedStep& step, int devices, const Links& links) {
  MeanStep out;
  for (const TimedProgram& each : step.programs) {
    const StepTimeline timeline = simulate_step(each.lowered, each.kernel_seconds, devices, links);
    const double share = double(each.steps) / double(step.steps());
    out.seconds += share * timeline.seconds;
    out.exchanged += share * timeline.exchanged();
    out.waited += share * timeline.waited();
    if (&each == step.programs.data()) out.updating = timeline;
  }
  return out;
}

class Simulation {
 public:
  explicit Simulation(const CommandLine& line) : line_(line), path_(only_operand(line)), spec_(open_spec(line, path_)) {
    options_ = options_of(line, spec_);
    asked_ = choose_backend(line, options_, *spec_.experiment);
    options_.save_path.clear();
    options_.output_file.clear();
    options_.progress_bar = false;
    options_.eval_freq = 1;  // nothing is evaluated: no note on when
    data_ = load_data(*spec_.experiment, options_, spec_.folder);
    spec_.experiment->fit_batch(options_, data_.train.size());
    batch_ = step_options(options_, spec_.experiment->params).batch;
  }

  // Throws a config error where so many cannot train the net, or the batch is too small for them.
  void check(int devices) const {
    if (devices > 1) check_trains_on_several(*spec_.experiment);
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
    const StepOptions of_step = step_options(options, spec_.experiment->params);
    TimedStep out{{}, trainer->device_text(), of_step.dtype};
    const int64_t together = sums_apart(of_step, ranks) ? of_step.accumulate : 1;
    const double whole = median_ms(std::max(kTimedSteps / together, kTimedByKernel), options.backend == "gpu",
                                   [&](int64_t count) { steps.repeat(count * together); });
    out.programs.push_back(timed(steps, false, 1));
    if (together > 1) out.programs.push_back(timed(steps, true, together - 1));
    double sum = 0;
    for (const TimedProgram& each : out.programs)
      sum += double(each.steps) * std::accumulate(each.kernel_seconds.begin(), each.kernel_seconds.end(), 0.0);
    // One by one, kernels take longer than in a step that is sent off whole.
    for (TimedProgram& each : out.programs)
      for (double& seconds : each.kernel_seconds) seconds *= whole * 1e-3 / sum;
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
    fail(ErrorKind::config, "--devices simulates other devices than this one; leave out ", line.ranks_option);
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
    out += formatted("exchange of kernel %d: %s, %s, %.4f ms\n", each.kernel,
                     counted(int64_t(lowered.kernels[size_t(each.kernel)].inputs.size()), "array").c_str(),
                     bytes_text(each.bytes).c_str(), (each.end - each.begin) * 1e3);
  return out;
}

int run_simulation(const CommandLine& line) {
  print_each_message_once();  // each number of devices has a trainer of its own
  const std::vector<int> counts = devices_of(*line.of_verb.devices);
  const Links links = links_of(line);
  Simulation simulation(line);
  for (const int devices : counts) simulation.check(devices);
  const TimedStep& alone = simulation.step_of(1);
  const double one = mean_step(alone, 1, links).seconds;
  const double rate = double(simulation.whole_batch(1)) / one;
  print_result(text(name_of(alone.dtype), ", kernels timed on ", alone.device, "; links of ",
                    formatted("%g GB/s and %g", links.bandwidth * 1e-9, links.latency * 1e6), " us in hosts of ",
                    links.host_devices, " devices, of ",
                    formatted("%g GB/s and %g", links.network_bandwidth * 1e-9, links.network_latency * 1e6),
                    " us between hosts, kernels ", links.slowdown, " times as long beside an exchange"));
  std::string rows = "devices    batch    step, ms   exchanges, ms   waited, ms     samples/s   of as many alone\n";
  rows += formatted("%7d %8lld %11.4f %15.4f %12.4f %13.0f %18.3f\n", 1, (long long)simulation.whole_batch(1),
                    one * 1e3, 0.0, 0.0, rate, 1.0);
  std::string exchanges;
  for (const int devices : counts) {
    if (devices == 1) continue;
    const TimedStep& step = simulation.step_of(devices);
    const MeanStep mean = mean_step(step, devices, links);
    const int64_t batch = simulation.whole_batch(devices);
    const double reached = double(batch) / mean.seconds;
    rows += formatted("%7d %8lld %11.4f %15.4f %12.4f %13.0f %18.3f\n", devices, (long long)batch, mean.seconds * 1e3,
                      mean.exchanged * 1e3, mean.waited * 1e3, reached, reached / rate / devices);
    if (exchanges.empty())
      exchanges = text("on ", devices, " devices", step.steps() > 1 ? ", in a step that updates" : "", ":\n") +
                  exchange_table(mean.updating, step.programs[0].lowered);
  }
  print_lines(rows + exchanges);
  return 0;
}

}  // namespace neon
