#include "neon/cli/rank_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "backends/device/device.h"
#include "backends/elementwise/kernels.h"
#include "backends/ranks/started_ranks.h"
#include "neon/cli/rank_endings.h"
#include "neon/cli/start_watch.h"
#include "neon/core/cgroups.h"
#include "neon/core/counted.h"
#include "neon/core/numa.h"
#include "neon/core/threads.h"
#include "neon/train/output_reader.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

struct Place {
  std::shared_ptr<SharedBoard> board;
  std::unique_ptr<SharedRanks> shared;
  std::unique_ptr<StartedRanks> started;
  std::string by;     // whoever started the ranks: "mpirun"
  int messages = -1;  // stderr of a rank that is silent
  Ranks* ranks() const { return started ? static_cast<Ranks*>(started.get()) : shared.get(); }
};

// Set once, before anything else runs.
Place& own_place() {
  static Place place;
  return place;
}

// A rank whose reader takes nothing, as a pager, has not hung. Returns whether whoever started it got a signal.
bool wait_alone(bool waits) {
  static std::unique_ptr<WorkAlone> alone;
  Ranks* const ranks = own_ranks();
  if (!ranks || gettid() != getpid()) return false;
  if (!waits) alone.reset();
  else if (!alone) alone = std::make_unique<WorkAlone>(ranks);
  else ranks->set_alone(true);
  return ranks->signal() != 0;
}

}  // namespace

void join_ranks() {
  const char* const given = std::getenv(kRankVariable);
  if (!given) return;
  int rank = 0, descriptor = -1, parent = 0;
  if (std::sscanf(given, "%d %d %d", &rank, &descriptor, &parent) != 3 || rank < 0)
    fail(ErrorKind::config, kRankVariable, " is '", given, "', no place of a rank; neon sets it, so leave it out");
  unsetenv(kRankVariable);  // programs that this one starts are no ranks
  // No rank outlives whoever started it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) std::exit(exit_code(ErrorKind::failed));
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  Place& place = own_place();
  place.board = SharedBoard::open(descriptor);
  place.shared = std::make_unique<SharedRanks>(place.board, rank);
  // So what another rank writes to stderr is why something else than neon has ended it.
  if (rank > 0) leave_messages_out();
  on_wait_for_reader(wait_alone);
}

Ranks* own_ranks() { return own_place().ranks(); }

namespace {

// Only rank 0 of those that mpirun started prints anything.
void be_silent(Place& place) {
  place.messages = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nothing, STDOUT_FILENO);
  dup2(nothing, STDERR_FILENO);
  close(nothing);
}

void end_started(StartedRanks& ranks, int code, const std::string& cause) {
  RankEnding own;
  own.ended = true, own.code = code, own.cause = cause;
  const std::vector<RankEnding> endings = ranks.end(own);
  if (endings.empty()) return;
  // Here the others are ended by rank 0, unless that one can do so no longer.
  if (const int messages = own_place().messages; messages >= 0) dup2(messages, STDERR_FILENO);
  const int failed = tell_endings(endings, ranks.started(), ranks.kept());
  ranks.end_all(failed ? failed : code);
}

void end_lost_rank() {
  StartedRanks& ranks = *own_place().started;
  end_started(ranks, kLostCode, ranks.leads() ? ranks.kept() : "");
}

// Hosts may have unlike processors. All ranks compute by the least instruction set of them, so that each makes the same
// bits of the same numbers. Called before anything asks for the own one.
void take_least_level(Ranks& ranks) {
  constexpr const char* kLevel = "NEON_SIMD";
  const char* const wish = std::getenv(kLevel);
  const std::string own = wish && *wish ? wish : elementwise::levels().back().name;
  const std::vector<std::string> all = ranks.gather_texts(own);
  const std::string least = std::ranges::min(all);
  const bool runs_own = std::ranges::count(elementwise::levels(), own, &elementwise::Level::name) > 0;
  if (runs_own && least != own) setenv(kLevel, least.c_str(), 1);
}

}  // namespace

void settle_environment() {
  const std::optional<StartedPlace> place = started_place();
  if (!place) return;
  setenv(kMulticastVariable, kNoMulticast, 0);
  if (std::getenv("OMP_NUM_THREADS")) return;
  // Processes that mpirun binds to processors have few already.
  const int all = std::min(int(sysconf(_SC_NPROCESSORS_ONLN)), processors_of_cgroups());
  const int threads = std::min(available_threads(), std::max(1, all / std::max(1, place->host_ranks)));
  setenv("OMP_NUM_THREADS", std::to_string(threads).c_str(), 1);
}

// Microseconds until a rank that cannot join tells its fault, and those that the next rank waits longer.
constexpr useconds_t kOthersEnd = 2'000'000, kApart = 100'000;
constexpr int kMostApart = 20;

void join_mpi_ranks() {
  const std::optional<StartedPlace> found = started_place();
  if (!found) return;
  Place& place = own_place();
  try {
    const StartWatch watch(*found);
    place.started = join_started_ranks(*found);
  } catch (const Error& error) {
    if (found->rank == 0) throw;
    // Rank 0 tells a fault that all ranks have, and whoever started them ends the others then.
    usleep(kOthersEnd + useconds_t(std::min(found->rank, kMostApart)) * kApart);
    fail(error.kind(), name_of(*found), ": ", error.what());
  }
  forget_started_place();
  place.by = found->by;
  if (!place.started->leads()) be_silent(place);
  if (place.started->size() == 1) {
    place.started->end({});
    place.started.reset();
    return;
  }
  place.started->when_lost(end_lost_rank);
  take_least_level(*place.started);
  on_wait_for_reader(wait_alone);
}

void check_mpi_ranks(const CommandLine& line) {
  const Place& place = own_place();
  if (!place.started) return;
  const int count = place.started->size();
  const std::string_view several[] = {"train", "resume", "bench"};
  if (!std::ranges::count(several, line.verb))
    fail(ErrorKind::config, "neon ", line.verb, " runs as one process, and ", place.by, " has started ", count,
         "; these are for several: neon SPEC, neon resume, neon bench");
  if (line.asks_for_ranks && line.ranks != count)
    fail(ErrorKind::config, line.ranks_option, " asks for ", counted(line.ranks, "rank"), ", and ", place.by,
         " has started ", count, "; leave ", line.ranks_option, " out");
  if (!can_run_again(line))
    fail(ErrorKind::config,
         "each rank reads the spec and the file of options, and one of them is a pipe; write it to a ", "file");
}

std::string with_ranks(const std::string& command) {
  const Place& place = own_place();
  if (!place.started) return command;
  return text(place.by, place.by == "srun" ? " --mpi=pmix -n " : " -np ", place.started->size(), " ", command);
}

bool end_rank(int code, const std::string& cause) {
  const Place& place = own_place();
  if (place.started) {
    end_started(*place.started, code, cause);
    return true;
  }
  if (!place.shared) return false;
  RankBoard& board = **place.board;
  RankRecord& record = board.records[place.shared->rank()];
  if (record.ended) return true;
  record.code = code;
  std::snprintf(record.cause, sizeof record.cause, "%s", cause.c_str());
  record.ended_at = ++board.endings;
  record.ended = 1;
  if (code != 0 && code <= 128) board.lost = 1;
  return true;
}

void take_gpu_of_rank(const CommandLine& line, RunOptions& options) {
  Ranks* const ranks = own_ranks();
  if (!ranks) return;
  std::string why_not;
  const std::vector<GpuInfo> gpus = gpu_module(why_not)->devices();
  const int64_t first = options.device_id, left = int64_t(gpus.size()) - first;
  const RankOf here = ranks->of_host();
  // Whoever starts ranks may show each of them one GPU alone, as srun --gpus-per-task=1 does.
  const bool sees_own = own_place().started && gpus.size() == 1 && std::getenv("CUDA_VISIBLE_DEVICES");
  if (!sees_own && left < here.ranks)
    fail(ErrorKind::device,
         own_place().started ? text(here.ranks, " ranks of a host take") : line.ranks_option + " takes",
         " as many GPUs, and there ", left == 1 ? "is " : "are ", left,
         first > 0 ? text(" from GPU ", first, " on") : "", "; take fewer, or -b cpu for ", here.ranks,
         " ranks on the CPU");
  if (!sees_own) options.device_id = first + here.rank;
  check_gpu(int(options.device_id));
  // Threads that read samples, and pinned memory, stay on the GPU's NUMA node.
  if (here.ranks > 1) stay_near(gpus[size_t(options.device_id)].pci, here.ranks);
  ranks->set_device(text("GPU ", options.device_id));
}

void write_as_rank(RunOptions& options) {
  if (!own_ranks() || own_ranks()->leads()) return;
  options.output_file.clear(), options.log_file.clear();
  options.progress_bar = false;
}

}  // namespace neon
