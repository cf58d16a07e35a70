#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

#include "backends/ranks/started_ranks.h"
#include "neon/cli/fault_search.h"
#include "neon/cli/output_place.h"
#include "neon/cli/rank_process.h"
#include "neon/cli/verb.h"
#include "neon/core/message.h"
#include "neon/core/team.h"
#include "neon/core/threads.h"
#include "neon/train/terminal.h"

namespace {

// Else the next file opened, a checkpoint say, would get the number of a closed stream, and all that is printed. The
// file opened in its place reads and writes nothing: results that cannot be printed stay an error.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1) continue;
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream)
      neon::fail(neon::ErrorKind::failed, "standard stream ", stream, " is closed, and /dev/null cannot be opened");
  }
}

// A thread that waits for another spins for a moment, then sleeps. libgomp's own moment is so long that beside
// another busy process, where the awaited thread has no core, a step took 4 to 8 times longer than with this one.
// libgomp reads the variable when it is loaded, so the program starts afresh. It does so before it reads anything: a
// pipe gives its content only once. Verbs that compute nothing are known by their first argument; behind options they
// start afresh too, which takes a millisecond.
void begin_with_short_spins(const std::string& first, char** argv) {
  if (const neon::Verb* const verb = neon::find_verb(first); verb && !(verb->takes & neon::computes)) return;
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  // Bound to a processor by libgomp, this thread would start anew with that one alone.
  if (std::getenv("OMP_PROC_BIND") || std::getenv("OMP_PLACES") || std::getenv("GOMP_CPU_AFFINITY")) return;
  setenv("GOMP_SPINCOUNT", "2000", 1);
  execv("/proc/self/exe", argv);  // where that fails, things go on as they are
}

// libgomp also reads OMP_NUM_THREADS when it is loaded. A number that it can use stands there after the fresh start, so
// the note comes once.
void note_threads() {
  const std::string note = neon::threads_note();
  if (note.empty()) return;
  const auto place = neon::started_place();
  if (!place || place->rank == 0) neon::print_message("note: " + note);
  setenv("OMP_NUM_THREADS", std::to_string(neon::available_threads()).c_str(), 1);
}

// Loops may begin anywhere, and OpenMP ends the program where it cannot start a thread. Verbs that compute find out
// first.
void try_threads(const neon::Verb& verb) {
  if (verb.takes & neon::computes) neon::team_size(neon::available_threads());
}

int run_verb(const neon::Verb& verb, const neon::CommandLine& line, char** argv) try {
  const int code = verb.run(line);
  if (!neon::fault_searched_for().empty()) neon::fail(neon::ErrorKind::device, "no kernel failed this time");
  return code;
} catch (const neon::RunFault& fault) {
  if (!fault.hint().empty() && !neon::own_ranks()) neon::search_for_fault(fault, line, argv);
  throw;
} catch (const neon::KernelFault& fault) {
  if (!fault.hint().empty() && !neon::own_ranks()) neon::search_for_fault(fault, line, argv);
  throw;
}

bool only_informs(const std::string& first) {
  return first.empty() || first == "help" || first == "-h" || first == "--help" || first == "--version";
}

int run(const std::vector<std::string>& arguments, char** argv) {
  const std::string first = arguments.empty() ? "" : arguments.front();
  if (!only_informs(first)) {
    note_threads();
    neon::settle_environment();
    begin_with_short_spins(first, argv);
    neon::join_mpi_ranks();
  }
  bool finished = false;
  std::string text;
  neon::CommandLine line = neon::parse_command_line(arguments, finished, text);
  if (!finished) {
    neon::check_mpi_ranks(line);
    const neon::Verb& verb = *neon::find_verb(line.verb);
    check_spares_inputs(line);
    try_threads(verb);
    if (argv[0]) line.program = argv[0];
    line.words = arguments;
    const int code = run_verb(verb, line, argv);
    // A terminal that hung up takes no results; the signal is then the reason.
    if (code <= 128) neon::flush_results();
    return code;
  }
  neon::print_lines(text);
  neon::flush_results();
  return 0;
}

// One message: a line, or one for each fault of a spec.
int complain(const std::vector<std::string>& lines, neon::ErrorKind kind) {
  if (neon::end_rank(neon::exit_code(kind), neon::join(lines, "\n"))) return neon::exit_code(kind);
  for (size_t i = 0; i < lines.size(); ++i) neon::print_message((i ? "" : "neon: ") + lines[i]);
  return neon::exit_code(kind);
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGXFSZ, SIG_IGN);  // a file that grows beyond the limit (ulimit -f) is a failed write, not the end
  try {
    open_standard_streams();
    neon::join_ranks();
    const int code = run({argv + 1, argv + argc}, argv);
    neon::end_rank(code, "");
    return code;
  } catch (const neon::RankLost& lost) {
    neon::end_rank(neon::kLostCode, lost.kept());
    return neon::kLostCode;
  } catch (const neon::Faults& faults) {
    return complain(faults.lines(), faults.kind());
  } catch (const neon::Error& error) {
    const std::string fault = neon::fault_searched_for();
    if (fault.empty()) return complain({error.what()}, error.kind());
    return complain({neon::text(fault, "; looking for it: ", error.what())}, neon::ErrorKind::device);
  } catch (const std::bad_alloc&) {
    return complain({"out of memory"}, neon::ErrorKind::memory);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again)
      return complain({error.what()}, neon::ErrorKind::failed);
    return complain({"a thread cannot be started; is there a limit on processes or memory (ulimit -u, ulimit -v)?"},
                    neon::ErrorKind::memory);
  } catch (const std::exception& error) {
    return complain({neon::reason_of(error, "a fault in neon itself; please report it with the command and its files")},
                    neon::ErrorKind::failed);
  }
}
