#include "neon/cli/rank_launch.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "neon/cli/rank_endings.h"
#include "neon/cli/rank_process.h"
#include "neon/core/counted.h"
#include "neon/core/threads.h"
#include "neon/train/clock.h"
#include "neon/train/terminal.h"

extern char** environ;

namespace neon {

namespace {

constexpr useconds_t kLook = 10'000;  // microseconds between looks at the ranks
// Seconds that the others have to end, once a rank was lost; and where all of them wait, as for GPUs that would never
// end.
constexpr double kGrace = 5, kGraceOfWaiting = 1.5;
// A rank for which the others wait has so many seconds, and more if its steps have taken long so far.
constexpr double kPatience = 8, kTimesLongest = 3;
// After as many seconds between two looks this process was stopped, and its ranks perhaps with it.
constexpr double kStopped = 1;
// A rank that was killed and is still there after as many seconds waits for a disk or a device.
constexpr double kToDie = 4;

std::atomic<int> asked_to_stop = 0, asked_times = 0;
void note_signal(int signal) { asked_to_stop = signal, ++asked_times; }

// The signals that ask a run to stop; an ignored one stays so.
void take_signals() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

struct RankProcess {
  pid_t id = 0;
  int words = -1;  // a file in memory that takes its messages; -1: they go to people
  int status = 0;
  bool runs = true;
  double since = 0, longest = 0;  // its last move, and the longest time between two
  int64_t moves = 0;
  int32_t alone = 0;  // as in its record
};

class Launch {
 public:
  explicit Launch(const CommandLine& line, int count) : line_(line), board_(count), ranks_(size_t(count)) {
    board_->seed = uint64_t(now_seconds() * 1e6) ^ (uint64_t(getpid()) << 32);
    board_->seed &= 0x7fffffffffff;
  }

  int run() {
    take_signals();
    for (int k = 0; k < count(); ++k) start(k);
    while (std::ranges::any_of(ranks_, &RankProcess::runs) && !waits_in_vain()) {
      collect();
      forgive_own_stop();
      pass_signals();
      find_hung();
      end_lost();
      usleep(kLook);
    }
    return tell();
  }

 private:
  int count() const { return int(ranks_.size()); }
  RankRecord& record(int k) const { return board_->records[k]; }

  void start(int k) {
    std::vector<std::string> settings;
    for (char** setting = environ; *setting; ++setting) settings.emplace_back(*setting);
    settings.push_back(text(kRankVariable, "=", k, " ", board_.descriptor(), " ", getpid()));
    if (!std::getenv("OMP_NUM_THREADS"))
      settings.push_back(text("OMP_NUM_THREADS=", std::max(1, available_threads() / count())));
    if (!std::getenv(kMulticastVariable)) settings.push_back(text(kMulticastVariable, "=", kNoMulticast));
    std::vector<std::string> words = {line_.program};
    words.insert(words.end(), line_.words.begin(), line_.words.end());
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    if (k > 0) {
      ranks_[size_t(k)].words = memfd_create("words of a rank", MFD_CLOEXEC);
      posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
      posix_spawn_file_actions_adddup2(&files, ranks_[size_t(k)].words, STDERR_FILENO);
    }
    const int error = posix_spawn(&ranks_[size_t(k)].id, "/proc/self/exe", &files, nullptr, pointers(words).data(),
                                  pointers(settings).data());
    posix_spawn_file_actions_destroy(&files);
    if (error == 0) return;
    end_all();
    fail(ErrorKind::memory, "rank ", k, " of ", count(), " cannot be started: ", std::strerror(error));
  }

  static std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> out;
    for (std::string& string : strings) out.push_back(string.data());
    out.push_back(nullptr);
    return out;
  }

  // Ctrl-Z stops this process and its ranks; the time until they go on counts for no rank.
  void forgive_own_stop() {
    const double now = now_seconds();
    const double away = looked_at_ > 0 ? now - looked_at_ : 0;
    looked_at_ = now;
    if (away < kStopped) return;
    for (RankProcess& rank : ranks_)
      if (rank.since > 0) rank.since += away;
  }

  bool waits_in_vain() const { return killed_at_ > 0 && now_seconds() > killed_at_ + kToDie; }

  void end_all() {
    if (killed_at_ == 0) killed_at_ = now_seconds();
    for (RankProcess& rank : ranks_)
      if (rank.runs && rank.id > 0) kill(rank.id, SIGKILL);
  }

  void collect() {
    for (int k = 0; k < count(); ++k) {
      RankProcess& rank = ranks_[size_t(k)];
      if (!rank.runs || waitpid(rank.id, &rank.status, WNOHANG) != rank.id) continue;
      rank.runs = false;
      if (record(k).ended) continue;
      // It could say nothing more.
      const int signal = WIFSIGNALED(rank.status) ? WTERMSIG(rank.status) : 0;
      if (signal && signal == asked_to_stop) {
        stop_others();
        continue;
      }
      note_end(k, signal ? exit_code(ErrorKind::failed) : WEXITSTATUS(rank.status), words_of_end(rank, signal));
    }
  }

  // Ctrl-C goes to each process of a terminal, and ends a rank that is not ready for it. Others would wait in vain.
  void stop_others() {
    board_->lost = 1;
    stopped_at_once_ = true;
  }

  std::string words_of_end(const RankProcess& rank, int signal) const {
    // Only what ends a program itself may have written why.
    const bool says_why = signal == 0 || signal == SIGABRT;
    const std::string last = says_why ? last_words(rank) : "", after = last.empty() ? "" : ": " + last;
    if (signal == SIGKILL) return "was killed (SIGKILL), by somebody or for want of memory" + after;
    if (signal) return text("was ended by SIG", sigabbrev_np(signal), after);
    return text("ended with exit code ", WEXITSTATUS(rank.status), after);
  }

  // The last line that the rank wrote.
  static std::string last_words(const RankProcess& rank) {
    if (rank.words < 0) return "";
    char end[512];
    const off_t size = lseek(rank.words, 0, SEEK_END);
    const ssize_t n = pread(rank.words, end, sizeof end, std::max<off_t>(size - off_t(sizeof end), 0));
    std::string out(end, size_t(std::max<ssize_t>(n, 0)));
    while (out.ends_with('\n')) out.pop_back();
    return out.substr(out.rfind('\n') + 1);
  }

  void note_end(int k, int code, const std::string& cause) {
    RankRecord& own = record(k);
    own.code = code;
    std::snprintf(own.cause, sizeof own.cause, "%s", cause.c_str());
    own.ended_at = ++board_->endings;
    own.ended = 1;
    board_->lost = 1;
  }

  // Ranks look at the board before each step. Asked twice, or before the first step, they end at once.
  void pass_signals() {
    if (asked_to_stop) board_->signal = asked_to_stop.load();
    const bool too_early = asked_times > 0 && !board_->started && !board_->lost;
    if (too_early) {
      end_all();
      stopped_at_once_ = true;
    }
    if (asked_times > 1 && now_seconds() > first_asked_ + 0.1 && first_asked_ > 0) {
      end_all();
      stopped_at_once_ = true;
    }
    if (asked_times > 0 && first_asked_ == 0) first_asked_ = now_seconds();
    if (asked_times > 1 && now_seconds() < first_asked_ + 0.1) asked_times = 1;  // the same request
  }

  // Seconds that a rank may take while the others wait for it.
  double patience_with(const RankProcess& rank) const {
    if (rank.alone) return alone_patience_;
    return board_->started ? kPatience + kTimesLongest * rank.longest : start_patience_;
  }

  // A rank that keeps all others waiting, and all that hang beside it.
  void find_hung() {
    if (board_->lost) return;
    const bool started = board_->started;
    const double now = now_seconds();
    int busy = -1, waiting = 0;
    double over = 0;  // seconds beyond its patience
    std::vector<pid_t> hung;
    int64_t farthest = 0;
    for (int k = 0; k < count(); ++k) farthest = std::max<int64_t>(farthest, record(k).moves);
    for (int k = 0; k < count(); ++k) {
      RankProcess& rank = ranks_[size_t(k)];
      if (const int64_t moves = record(k).moves; moves != rank.moves || rank.since == 0) {
        if (rank.since > 0 && started) rank.longest = std::max(rank.longest, now - rank.since);
        rank.moves = moves, rank.since = now;
      }
      // The time that it has for the others begins when it is no longer alone.
      if (const int32_t alone = record(k).alone; alone != rank.alone) rank.alone = alone, rank.since = now;
      if (!rank.runs || record(k).ended) continue;
      // One that was stopped while it waited has not seen that the others came and went on.
      if (record(k).waiting && rank.moves == farthest) {
        ++waiting;
        continue;
      }
      const double late = now - rank.since - patience_with(rank);
      if (late < 0) continue;
      hung.push_back(rank.id);
      if (late >= over) busy = k, over = late;
    }
    if (busy < 0 || waiting == 0) return;
    const RankProcess& rank = ranks_[size_t(busy)];
    note_end(busy, exit_code(ErrorKind::failed),
             text("has not answered for ", counted(int(now - rank.since), "second")));
    for (const pid_t id : hung) kill(id, SIGKILL);
  }

  // The others notice by themselves, unless they compute or wait for something else.
  void end_lost() {
    if (!board_->lost) return;
    if (lost_at_ == 0) lost_at_ = now_seconds();
    bool wait = true, saves = false;
    for (int k = 0; k < count(); ++k) {
      wait = wait && (!ranks_[size_t(k)].runs || record(k).waiting);
      saves = saves || (ranks_[size_t(k)].runs && record(k).alone && stopped_at_once_);
    }
    const double grace = wait ? kGraceOfWaiting : saves ? alone_patience_ : kGrace;
    if (now_seconds() > lost_at_ + grace) end_all();
  }

  int tell() const {
    std::vector<RankEnding> endings;
    for (int k = 0; k < count(); ++k) {
      const RankRecord& own = record(k);
      endings.push_back({own.ended != 0, own.code, own.cause, board_->host, own.device, own.ended_at});
    }
    const int failed = stopped_at_once_ ? 128 + asked_to_stop
                                        : tell_endings(endings, board_->started, board_->kept[board_->kept_number]);
    for (int k = 0; k < count(); ++k)
      if (ranks_[size_t(k)].runs)
        print_message(text("warning: rank ", k, ", process ", ranks_[size_t(k)].id,
                           ", was killed and has not ended: it ",
                           "waits for a disk or a device, and ends when these answer"));
    return failed ? failed : code_of(0);
  }

  int code_of(int k) const {
    const int status = ranks_[size_t(k)].status;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  const CommandLine& line_;
  SharedBoard board_;
  std::vector<RankProcess> ranks_;
  const double start_patience_ = start_patience(), alone_patience_ = alone_patience();
  double first_asked_ = 0, lost_at_ = 0, looked_at_ = 0, killed_at_ = 0;
  bool stopped_at_once_ = false;
};

}  // namespace

bool starts_ranks(const CommandLine& line) { return line.ranks > 1 && !own_ranks(); }

int start_ranks(const CommandLine& line) {
  if (line.ranks > kMostRanks)
    fail(ErrorKind::config, line.ranks_option, ": at most ", kMostRanks, " ranks run on one host");
  if (!can_run_again(line))
    fail(ErrorKind::config, line.ranks_option, " reads the spec and the file of options once for each rank, and one ",
         "of them is a pipe; write it to a file");
  if (const int most = available_processors(); line.run().backend == "cpu" && line.ranks > most)
    print_message(text("note: ", line.ranks_option, ": the processes take turns on ", counted(most, "processor"), "; ",
                       most, most == 1 ? " process trains" : " processes train", " as fast"));
  return Launch(line, int(line.ranks)).run();
}

}  // namespace neon
