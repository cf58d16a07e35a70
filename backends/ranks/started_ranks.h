// Ranks that mpirun or srun has started, on one host or on several. MPI carries what they exchange, in a module that is
// opened for them alone.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/ranks.h"
#include "backends/ranks/rank_ending.h"

namespace neon {

// This process' place, from the environment.
struct StartedPlace {
  std::string by;  // "mpirun", "srun"
  int rank = 0;
  int ranks = 0;       // 0: MPI alone knows
  int host_ranks = 1;  // on this host, as far as is known
};

// Empty: this process was started by itself.
std::optional<StartedPlace> started_place();
// Programs that this one starts have no place.
void forget_started_place();

class StartedRanks : public Ranks {
 public:
  using Ranks::Ranks;
  // Whether all ranks have met, and agree on what they do.
  virtual bool started() const = 0;
  // Tells the others how this rank ends. Where it is done, waits for them, leaves them, and returns nothing. Where it
  // or another has failed, returns what the ranks said before some seconds had passed; the rank that speaks for all
  // hears of them first.
  virtual std::vector<RankEnding> end(const RankEnding& own) = 0;
  // The text of set_kept(), on any rank.
  virtual std::string kept() const = 0;
  // Sets the function that ends this process where another rank is lost while this one's device waits for it. The
  // device may do so for ever, and then nothing of it can be given back.
  void when_lost(void (*end)()) { when_lost_ = end; }
  // Ends all ranks at once with that exit code.
  [[noreturn]] virtual void end_all(int code) = 0;

 protected:
  void (*when_lost_)() = nullptr;
};

// Takes this process' place, together with the other ranks. Throws where this build has no MPI.
std::unique_ptr<StartedRanks> join_started_ranks(const StartedPlace& place);

}  // namespace neon
