// Ranks that exchange arrays through MPI. An array goes from rank to rank in parts, which are sums in the order of
// ranks: the same bits as those of ranks that share memory.
#pragma once
#include <array>

#include "backends/mpi/messages.h"
#include "backends/ranks/started_ranks.h"

namespace neon {

class MpiRanks : public StartedRanks {
 public:
  // MPI has begun. All ranks call this together.
  MpiRanks();
  using Ranks::sum;
  RankOf of_host() const override { return of_host_; }
  void sum(std::span<const Summand> arrays, DType dtype) override;
  void all_to_all(std::span<const Given> give, std::span<const Taken> take) override;
  uint64_t seed() const override { return seed_; }
  std::string name() const override;
  void set_device(const std::string& device) override { ending(rank()).device = device; }
  void set_started() override;
  void set_alone(bool alone) override;
  void set_kept(const std::string& kept) override;
  void wait_for_device(const Awaited& device) override;
  std::string kept() const override { return messages_.kept(); }
  bool started() const override { return started_; }
  std::vector<RankEnding> end(const RankEnding& own) override;
  [[noreturn]] void end_all(int code) override;

 private:
  RankEnding& ending(int rank) const { return messages_.peers()[size_t(rank)].ending; }
  // Begins to move bytes, at most kPart from rank to rank, and waits until all are there. Own bytes stay.
  void pass(std::span<const Given> give, std::span<const Taken> take);
  void wait(const Awaited& awaited);
  void give_way();
  void find_hung(double waited);
  std::vector<RankEnding> endings_of_all();
  int speaker() const;
  template <typename T>
  void sum_as(std::span<const Summand> arrays);
  template <typename T>
  void sum_whole(int64_t count);
  template <typename T>
  void sum_shares(int64_t count);

  mutable Messages messages_;
  MPI_Comm arrays_ = MPI_COMM_NULL;
  RankOf of_host_;
  uint64_t seed_ = 0;
  bool started_ = false;
  double longest_ = 0;  // seconds of a wait
  double asked_at_ = 0;
  double together_since_ = 0;  // when a rank was last seen at work alone, for no longer than alone_patience_
  const double start_patience_ = start_patience(), alone_patience_ = alone_patience();
  int64_t crowded_ = 0;  // exchanges for which this rank sleeps where it waits
  // What MPI may still read and write when a rank is lost.
  std::vector<std::byte> outgoing_, incoming_;
  std::vector<MPI_Request> requests_;
};

}  // namespace neon
