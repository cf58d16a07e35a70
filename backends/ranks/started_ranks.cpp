#include "backends/ranks/started_ranks.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

#include "neon/core/module_files.h"
#include "neon/core/text.h"
#include "neon/core/version.h"

namespace neon {

namespace {

constexpr const char *kRanksOfMpirun = "OMPI_COMM_WORLD_SIZE", *kRankOfPmix = "PMIX_RANK";

// The number in the environment, or `missing`.
int number_in(const char* name, int missing) {
  const char* const said = std::getenv(name);
  return said ? std::atoi(said) : missing;
}

using Open = StartedRanks* (*)(const std::string& version, std::string* why_not);

}  // namespace

std::optional<StartedPlace> started_place() {
  StartedPlace out;
  if (std::getenv(kRanksOfMpirun)) {
    out = {"mpirun", number_in("OMPI_COMM_WORLD_RANK", 0), number_in(kRanksOfMpirun, 0),
           number_in("OMPI_COMM_WORLD_LOCAL_SIZE", 1)};
  } else if (std::getenv(kRankOfPmix)) {
    out = {"srun", number_in(kRankOfPmix, 0), number_in("SLURM_STEP_NUM_TASKS", 0),
           number_in("SLURM_STEP_TASKS_PER_NODE", 1)};
  }
  if (out.by.empty() || out.ranks == 1) return {};
  return out;
}

void forget_started_place() {
  unsetenv(kRanksOfMpirun);
  unsetenv(kRankOfPmix);
}

std::unique_ptr<StartedRanks> join_started_ranks(const StartedPlace& place) {
  const OpenedModule file = open_module("mpi", "backends/mpi");
  if (file.path.empty())
    fail(ErrorKind::failed, place.by,
         " has started several ranks, and this build of neon has no MPI (libneon_mpi.so); ",
         "build it where libopenmpi-dev is installed, or train on one host with -m N");
  std::string why_not = file.problem;
  const auto open = reinterpret_cast<Open>(file.handle ? dlsym(file.handle, "neon_open_mpi") : nullptr);
  if (file.handle && !open) why_not = file.path + " is no module of neon";
  StartedRanks* const ranks = open ? open(std::string(version()), &why_not) : nullptr;
  if (!ranks) fail(ErrorKind::failed, place.by, " has started this rank, and MPI cannot be used: ", why_not);
  return std::unique_ptr<StartedRanks>(ranks);
}

}  // namespace neon
