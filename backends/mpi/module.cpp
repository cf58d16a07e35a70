#include "backends/mpi/mpi_ranks.h"
#include "neon/core/text.h"

// Takes this process' place among the ranks; null: `why_not`.
extern "C" __attribute__((visibility("default"))) neon::StartedRanks* neon_open_mpi(const std::string& version,
                                                                                    std::string* why_not) {
  // version() would be the executable's, in which the module finds what it needs of neon.
  if (version != NEON_MODULE_VERSION) {
    *why_not = neon::text("the MPI module is of neon ", NEON_MODULE_VERSION, ", the program of ", version);
    return nullptr;
  }
  int level = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS) {
    *why_not = "MPI does not start";
    return nullptr;
  }
  return new neon::MpiRanks;
}
