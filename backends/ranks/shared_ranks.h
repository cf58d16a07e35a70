// Ranks of one host, which exchange arrays through memory that they share. Whoever starts them makes the memory, hands
// its descriptor on, and watches over them.
#pragma once
#include <atomic>
#include <memory>

#include "backends/ranks.h"

namespace neon {

constexpr int kMostRanks = 256;

// The state of one rank, which the other ranks and their starter read. The memory is zero at first.
struct RankRecord {
  std::atomic<int64_t> moves;    // times that it has begun or ended to wait for the others
  std::atomic<int32_t> waiting;  // 1 while it waits for the others
  std::atomic<int32_t> alone;    // not 0 while it does what the others have no part in; a new number each time
  std::atomic<int32_t> ended;    // 1: `code` and `cause` are there
  int32_t code = 0;              // its exit code
  char device[32] = "CPU";
  char cause[1024] = {};          // why it ended; "" where it was done
  std::atomic<int64_t> ended_at;  // in the order in which ranks ended, from 1
};

struct RankBoard {
  int32_t ranks = 0;
  uint64_t seed = 0;
  char host[64] = {};
  std::atomic<int32_t> signal;   // that stops the run
  std::atomic<int32_t> lost;     // 1: a rank has ended before its time, and the others end, too
  std::atomic<int32_t> started;  // 1: all ranks have met
  std::atomic<int64_t> endings;
  // Texts of set_kept(), the present one and one before. A rank that is killed while it writes leaves one whole.
  char kept[2][1024] = {};
  std::atomic<int32_t> kept_number;
  alignas(64) std::atomic<uint32_t> arrived;
  alignas(64) std::atomic<uint32_t> round;
  RankRecord records[kMostRanks];
};

// The shared memory of one host's ranks.
class SharedBoard {
 public:
  // Makes one for so many ranks. Throws a memory error where that fails.
  explicit SharedBoard(int ranks);
  // Opens one that another process made; `descriptor` stays open.
  static std::shared_ptr<SharedBoard> open(int descriptor);
  ~SharedBoard();
  SharedBoard(const SharedBoard&) = delete;

  RankBoard& operator*() const { return *board_; }
  RankBoard* operator->() const { return board_; }
  int descriptor() const { return descriptor_; }
  // Memory of one rank for arrays on their way, of so many bytes; there are two such banks.
  std::byte* area(int bank, int rank) const;
  static constexpr size_t area_bytes() { return size_t(1) << 20; }

 private:
  SharedBoard() = default;
  void map(size_t bytes);
  RankBoard* board_ = nullptr;
  size_t bytes_ = 0;
  int descriptor_ = -1;
};

class SharedRanks : public Ranks {
 public:
  SharedRanks(std::shared_ptr<SharedBoard> board, int rank);
  using Ranks::sum;
  void sum(std::span<const Summand> arrays, DType dtype) override;
  void all_to_all(std::span<const Given> give, std::span<const Taken> take) override;
  int signal() const override { return (*board_)->signal; }
  uint64_t seed() const override { return (*board_)->seed; }
  std::string name() const override;
  void set_device(const std::string& device) override;
  void set_started() override { (*board_)->started = 1; }
  void set_waiting(bool waiting) override;
  void set_kept(const std::string& kept) override;
  void set_alone(bool alone) override { (*board_)->records[rank()].alone = alone ? ++times_alone_ : 0; }

 private:
  void meet();
  template <typename T>
  void sum_as(std::span<const Summand> arrays);
  const std::shared_ptr<SharedBoard> board_;
  int bank_ = 0;
  int32_t times_alone_ = 0;
};

}  // namespace neon
