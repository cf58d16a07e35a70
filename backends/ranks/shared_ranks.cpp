#include "backends/ranks/shared_ranks.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <new>

#include "backends/ranks/add_ranks.h"
#include "neon/core/text.h"

namespace neon {

namespace {

constexpr int kBanks = 2;
// The least ranks, and bytes of an array, from which on each rank adds up a share.
constexpr int kRanksOfShares = 3;
constexpr size_t kBytesOfShares = size_t(1) << 15;
constexpr int kSpins = 4000;               // looks before a wait sleeps: some tens of microseconds
constexpr int kYield = 64;                 // looks before another rank may have the processor
constexpr timespec kSleep{0, 50'000'000};  // after which a sleeper looks whether a rank was lost
constexpr size_t board_bytes() { return (sizeof(RankBoard) + 4095) / 4096 * 4096; }

void sleep_on(std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, value, &kSleep, nullptr, 0);
}

// Adds up places `begin` to `end` of all areas in one of them.
template <typename T>
void add_share(const T* const* areas, int ranks, int64_t begin, int64_t end, T* to) {
  const T* parts[kMostRanks];
  for (int k = 0; k < ranks; ++k) parts[k] = areas[k] + begin;
  add_ranks(parts, ranks, end - begin, to + begin);
}

void wake_all(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, kMostRanks, nullptr, nullptr, 0);
}

}  // namespace

SharedBoard::SharedBoard(int ranks) {
  NEON_ASSERT(ranks >= 1 && ranks <= kMostRanks);
  const size_t bytes = board_bytes() + kBanks * size_t(ranks) * area_bytes();
  descriptor_ = memfd_create("neon ranks", 0);
  if (descriptor_ < 0 || ftruncate(descriptor_, off_t(bytes)) != 0)
    fail(ErrorKind::memory, "no memory for ", ranks, " ranks to share: ", std::strerror(errno));
  map(bytes);
  board_ = new (board_) RankBoard();
  board_->ranks = ranks;
  gethostname(board_->host, sizeof board_->host - 1);
}

std::shared_ptr<SharedBoard> SharedBoard::open(int descriptor) {
  std::shared_ptr<SharedBoard> out(new SharedBoard());
  out->descriptor_ = descriptor;
  const off_t bytes = lseek(descriptor, 0, SEEK_END);
  if (bytes < off_t(board_bytes())) fail(ErrorKind::failed, "descriptor ", descriptor, " is no memory of ranks");
  out->map(size_t(bytes));
  return out;
}

SharedBoard::~SharedBoard() {
  if (board_) munmap(static_cast<void*>(board_), bytes_);
}

void SharedBoard::map(size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) fail(ErrorKind::memory, "the memory that ranks share: ", std::strerror(errno));
  bytes_ = bytes;
  board_ = static_cast<RankBoard*>(memory);
}

std::byte* SharedBoard::area(int bank, int rank) const {
  const size_t number = size_t(bank) * size_t(board_->ranks) + size_t(rank);
  return reinterpret_cast<std::byte*>(board_) + board_bytes() + number * area_bytes();
}

SharedRanks::SharedRanks(std::shared_ptr<SharedBoard> board, int rank)
    : Ranks({rank, (*board)->ranks}), board_(std::move(board)) {}

std::string SharedRanks::name() const {
  return text("rank ", rank(), " of ", size(), " (", (*board_)->host, ", ", (*board_)->records[rank()].device, ")");
}

void SharedRanks::set_device(const std::string& device) {
  RankRecord& own = (*board_)->records[rank()];
  std::snprintf(own.device, sizeof own.device, "%s", device.c_str());
}

void SharedRanks::set_waiting(bool waiting) {
  RankRecord& own = (*board_)->records[rank()];
  own.waiting = waiting;
  ++own.moves;
}

void SharedRanks::set_kept(const std::string& kept) {
  RankBoard& board = **board_;
  const int32_t other = 1 - board.kept_number;
  std::snprintf(board.kept[other], sizeof board.kept[other], "%s", kept.c_str());
  board.kept_number = other;
}

// Waits until all ranks are here.
void SharedRanks::meet() {
  RankBoard& board = **board_;
  const uint32_t round = board.round;
  set_waiting(true);
  if (board.arrived.fetch_add(1) + 1 == uint32_t(size())) {
    board.arrived = 0;
    ++board.round;
    wake_all(board.round);
  }
  for (int looks = 0; board.round == round; ++looks) {
    if (looks < kSpins) {
      if (looks % kYield == kYield - 1) sched_yield();
      else __builtin_ia32_pause();
      continue;
    }
    if (board.lost) throw RankLost();
    sleep_on(board.round, round);
  }
  set_waiting(false);
}

// Each rank adds up all areas for itself, its own numbers from where they are, if ranks are few or arrays small.
// Otherwise a rank adds up its share in its area, and takes the others' sums from their areas: so it reads two arrays
// in place of one of each rank. An area of one bank is written again two sums later: by then all ranks have met once
// more, and so have read it.
template <typename T>
void SharedRanks::sum_as(std::span<const Summand> arrays) {
  constexpr auto kMost = int64_t(SharedBoard::area_bytes() / sizeof(T)), kLine = int64_t(64 / sizeof(T));
  Places sources(arrays), targets(arrays);
  while (true) {
    const T* areas[kMostRanks];
    for (int k = 0; k < size(); ++k) areas[k] = reinterpret_cast<const T*>(board_->area(bank_, k));
    T* const own = reinterpret_cast<T*>(board_->area(bank_, rank()));
    const int64_t count = sources.next(kMost, [&](const Summand& array, int64_t first, int64_t place, int64_t n) {
      std::memcpy(own + place, static_cast<const T*>(array.from) + first, size_t(n) * sizeof(T));
    });
    if (count == 0) return;
    meet();
    if (size() < kRanksOfShares || size_t(count) * sizeof(T) < kBytesOfShares) {
      targets.next(kMost, [&](const Summand& array, int64_t first, int64_t place, int64_t n) {
        const T* parts[kMostRanks];
        for (int k = 0; k < size(); ++k) parts[k] = areas[k] + place;
        parts[rank()] = static_cast<const T*>(array.from) + first;
        add_ranks(parts, size(), n, static_cast<T*>(array.to) + first);
      });
    } else {
      const int64_t share = ((count + size() - 1) / size() + kLine - 1) / kLine * kLine;
      add_share(areas, size(), std::min(share * rank(), count), std::min(share * (rank() + 1), count), own);
      meet();
      targets.next(kMost, [&](const Summand& array, int64_t first, int64_t place, int64_t n) {
        for (int64_t at = place; at < place + n;) {
          const int64_t k = at / share, end = std::min(place + n, share * (k + 1));
          std::memcpy(static_cast<T*>(array.to) + first + (at - place), areas[k] + at, size_t(end - at) * sizeof(T));
          at = end;
        }
      });
    }
    bank_ = 1 - bank_;
  }
}

// An area begins with the most bytes that its rank has for another one, and has a part for each rank behind that. Ranks
// meet as often as the largest of these numbers asks.
void SharedRanks::all_to_all(std::span<const Given> give, std::span<const Taken> take) {
  constexpr size_t kHead = 64;
  const size_t part = (SharedBoard::area_bytes() - kHead) / size_t(size()) / kHead * kHead;
  size_t most = 0;
  for (const Given& given : give) most = std::max(most, given.bytes);
  for (size_t at = 0, largest = 1; at < largest; at += part) {
    std::byte* const own = board_->area(bank_, rank());
    std::memcpy(own, &most, sizeof most);
    for (int k = 0; k < size(); ++k) {
      const Given& given = give[size_t(k)];
      if (at < given.bytes)
        std::memcpy(own + kHead + size_t(k) * part, static_cast<const std::byte*>(given.data) + at,
                    std::min(part, given.bytes - at));
    }
    meet();
    for (int k = 0; k < size(); ++k) {
      const std::byte* const from = board_->area(bank_, k);
      size_t of_rank = 0;
      std::memcpy(&of_rank, from, sizeof of_rank);
      largest = std::max(largest, of_rank);
      const Taken& taken = take[size_t(k)];
      if (at < taken.bytes)
        std::memcpy(static_cast<std::byte*>(taken.data) + at, from + kHead + size_t(rank()) * part,
                    std::min(part, taken.bytes - at));
    }
    bank_ = 1 - bank_;
  }
}

void SharedRanks::sum(std::span<const Summand> arrays, DType dtype) {
  sum_in_type(dtype, [&]<typename T>() { sum_as<T>(arrays); });
}

}  // namespace neon
