#include "neon/core/threads.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "neon/core/cgroups.h"
#include "neon/core/team.h"
#include "neon/core/text.h"

namespace neon {

namespace {

// The number, 1 or more, that is all of `text` but for blanks around it; 0 for any other text.
int count_in(std::string_view text) {
  constexpr const char* kBlanks = " \t";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return 0;
  text = text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
  if (text.starts_with('+')) text.remove_prefix(1);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::max(number, 0) : 0;
}

// Processors that the threads of loops are bound to (OMP_PROC_BIND, GOMP_CPU_AFFINITY); 0: they are not. The mask does
// not say: libgomp binds the first thread when it is loaded, which then has one.
int bound_processors() {
  int out = 0;
  for (int place = 0; place < omp_get_num_places(); ++place) out += omp_get_place_num_procs(place);
  return out;
}

// The first number of a list such as "4,2": of threads at the outermost level, those inside it follow. 0 for any other
// text.
int first_number(std::string_view list) {
  int first = 0;
  while (true) {
    const size_t comma = std::min(list.find(','), list.size());
    const int number = count_in(list.substr(0, comma));
    if (number == 0) return 0;
    if (first == 0) first = number;
    if (comma == list.size()) return first;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

int available_processors() {
  cpu_set_t mask;
  int threads = bound_processors();
  if (threads == 0 && sched_getaffinity(0, sizeof mask, &mask) == 0) threads = CPU_COUNT(&mask);
  static const int of_groups = processors_of_cgroups();  // read once: it is asked for often
  return std::max(1, std::min(threads, of_groups));
}

int available_threads() {
  const char* wanted = std::getenv("OMP_NUM_THREADS");
  const int most = std::min(available_processors(), team_limit()), number = wanted ? first_number(wanted) : 0;
  return number > 0 ? std::min(most, number) : most;
}

std::string threads_note() {
  const char* wanted = std::getenv("OMP_NUM_THREADS");
  if (!wanted) return "";
  const int processors_here = available_processors(), most = std::min(processors_here, team_limit()),
            number = first_number(wanted);
  if (number > 0 && number <= most) return "";
  const char* why = ", not a number of threads (1 or more)";
  if (number > processors_here) why = ", more than this process has processors";
  else if (number > 0) why = ", more than OMP_THREAD_LIMIT or OMP_MAX_ACTIVE_LEVELS allows";
  return text("OMP_NUM_THREADS is ", in_quotes(wanted), why, ": neon uses ", most, most == 1 ? " thread" : " threads");
}

}  // namespace neon
