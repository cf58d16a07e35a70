// Teams: the threads that OpenMP gives to a parallel region. The runtime may give fewer than a region asks for, so a
// loop that divides its work by threads uses the size of its team. oneDNN does not: it needs the threads that it was
// promised.
#pragma once

namespace neon {

// The most threads that a region of the calling thread can get: OMP_THREAD_LIMIT, OMP_MAX_ACTIVE_LEVELS; 1 inside
// another region with several threads. At least 1.
int team_limit();

// How many of `wanted` threads a region of the calling thread gets; finds out by running one. Throws a memory error
// where so many threads cannot be started: OpenMP would end the process.
int team_size(int wanted);

// While it lives, the calling thread's regions get `threads` threads, also regions that do not say how many: OpenMP
// does not change the number with the machine's load (OMP_DYNAMIC). Then the caller's settings return.
class Team {
 public:
  // Throws a failed error where the calling thread cannot get so many.
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

 private:
  int callers_threads_, callers_dynamic_;
};

}  // namespace neon
