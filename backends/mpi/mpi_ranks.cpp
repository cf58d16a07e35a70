#include "backends/mpi/mpi_ranks.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "backends/ranks/add_ranks.h"
#include "neon/core/text.h"

namespace neon {

namespace {

constexpr size_t kPart = size_t(1) << 20;   // bytes that go from one rank to another at a time
constexpr size_t kWhole = size_t(1) << 13;  // arrays of as many bytes go to each rank at once
constexpr const char* kDoing = "an exchange between ranks";
// Looks at an exchange before other threads get the processor, between looks for messages and at the clock.
constexpr int64_t kSpins = 2000, kCrowdedSpins = 100, kMessages = 16, kClock = 256;
// A processor is crowded where it comes back after more seconds than kTaken. Waits then sleep, for so many exchanges.
constexpr double kTaken = 50e-6;
constexpr int64_t kNap = 20'000, kCrowdedWaits = 1000;  // kNap in nanoseconds; the system adds up to 50'000
// A rank for which others wait is asked after so many seconds, and more if waits have taken long so far. It has some
// more to answer.
constexpr double kPatience = 6, kTimesLongest = 3, kToAnswer = 2;
constexpr double kGrace = 3;  // seconds in which ranks say how they end; whoever speaks for them is waited for longer

double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

RankOf place_in(MPI_Comm ranks) {
  RankOf out;
  MPI_Comm_rank(ranks, &out.rank);
  MPI_Comm_size(ranks, &out.ranks);
  return out;
}

class AllDone : public Awaited {
 public:
  explicit AllDone(std::span<MPI_Request> requests) : requests_(requests) {}
  bool is_done() const override {
    int done = 0;
    check_mpi(MPI_Testall(int(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE), kDoing);
    return done != 0;
  }

 private:
  const std::span<MPI_Request> requests_;
};

uint64_t drawn_seed() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t(now.tv_sec * 1'000'000 + now.tv_nsec / 1000) ^ (uint64_t(getpid()) << 32)) & 0x7fffffffffff;
}

}  // namespace

MpiRanks::MpiRanks() : StartedRanks(place_in(MPI_COMM_WORLD)), messages_(MPI_COMM_WORLD) {
  constexpr const char* kJoining = "bringing ranks together";
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &arrays_), kJoining);
  check_mpi(MPI_Comm_set_errhandler(arrays_, MPI_ERRORS_RETURN), kJoining);
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(arrays_, MPI_COMM_TYPE_SHARED, rank(), MPI_INFO_NULL, &host), kJoining);
  of_host_ = place_in(host);
  MPI_Comm_free(&host);
  if (leads()) seed_ = drawn_seed();
  check_mpi(MPI_Bcast(&seed_, 1, MPI_UINT64_T, 0, arrays_), kJoining);
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  std::vector<char> names(name.size() * size_t(size()));
  check_mpi(MPI_Allgather(name.data(), int(name.size()), MPI_CHAR, names.data(), int(name.size()), MPI_CHAR, arrays_),
            kJoining);
  for (int k = 0; k < size(); ++k) ending(k).host = names.data() + size_t(k) * name.size(), ending(k).device = "CPU";
  outgoing_.resize(kPart * size_t(size()));
  incoming_.resize(kPart * size_t(size()));
}

std::string MpiRanks::name() const {
  return text("rank ", rank(), " of ", size(), " (", ending(rank()).host, ", ", ending(rank()).device, ")");
}

void MpiRanks::set_started() {
  const std::vector<std::string> devices = gather_texts(ending(rank()).device);
  for (int k = 0; k < size(); ++k) ending(k).device = devices[size_t(k)];
  started_ = true;
}

void MpiRanks::set_alone(bool alone) { messages_.tell_all(alone ? Messages::Word::alone : Messages::Word::together); }

void MpiRanks::set_kept(const std::string& kept) {
  messages_.kept() = kept;
  messages_.tell_all(Messages::Word::kept, 0, kept);
}

void MpiRanks::pass(std::span<const Given> give, std::span<const Taken> take) {
  requests_.clear();
  // Each rank begins with the one behind it, so that not all send to one.
  for (int step = 1; step < size(); ++step) {
    const int from = (rank() + size() - step) % size(), to = (rank() + step) % size();
    const Taken& taken = take[size_t(from)];
    const Given& given = give[size_t(to)];
    if (taken.bytes > 0)
      check_mpi(MPI_Irecv(taken.data, int(taken.bytes), MPI_BYTE, from, 0, arrays_,
                          &requests_.emplace_back(MPI_REQUEST_NULL)),
                kDoing);
    if (given.bytes > 0)
      check_mpi(
          MPI_Isend(given.data, int(given.bytes), MPI_BYTE, to, 0, arrays_, &requests_.emplace_back(MPI_REQUEST_NULL)),
          kDoing);
  }
  wait(AllDone(requests_));
}

void MpiRanks::wait_for_device(const Awaited& device) try { wait(device); } catch (const RankLost&) {
  if (when_lost_) when_lost_();
  throw;
}

void MpiRanks::wait(const Awaited& awaited) {
  const double begin = seconds_now();
  const int64_t spins = crowded_ > 0 ? kCrowdedSpins : kSpins;
  double waited = 0;
  crowded_ = std::max(crowded_ - 1, int64_t(0));
  for (int64_t looks = 0;; ++looks) {
    if (awaited.is_done()) break;
    if (looks < spins) continue;
    give_way();
    if (looks % kMessages == 0) {
      messages_.take();
      if (messages_.any_failed()) throw RankLost();
    }
    if (looks % kClock == 0) {
      waited = seconds_now() - begin;
      find_hung(waited);
    }
  }
  asked_at_ = 0;
  if (started_) longest_ = std::max(longest_, waited);
}

// A rank that yields a shared processor again and again keeps it from those that compute.
void MpiRanks::give_way() {
  if (crowded_ > 0) {
    const timespec nap{0, kNap};
    nanosleep(&nap, nullptr);
    return;
  }
  const double before = seconds_now();
  sched_yield();
  if (seconds_now() - before > kTaken) crowded_ = kCrowdedWaits;
}

// Ranks that wait answer when they are asked; one that does not has hung.
// A rank that has worked alone has its time afterwards.
void MpiRanks::find_hung(double waited) {
  std::vector<Peer>& peers = messages_.peers();
  const double now = seconds_now();
  for (Peer& peer : peers) {
    if (std::exchange(peer.begins, false)) peer.since = now;
    const bool returns = std::exchange(peer.returns, false);
    if (peer.alone ? now < peer.since + alone_patience_ : returns) together_since_ = now;
  }
  waited = std::min(waited, now - together_since_);
  if (waited < (started_ ? kPatience + kTimesLongest * longest_ : start_patience_)) return;
  if (asked_at_ == 0) {
    asked_at_ = now;
    for (Peer& peer : peers) peer.answered = false;
    peers[size_t(rank())].answered = true;
    return messages_.tell_all(Messages::Word::ask);
  }
  if (now < asked_at_ + kToAnswer) return;
  const auto hung = std::ranges::find_if(peers, [](const Peer& peer) { return !peer.answered; });
  asked_at_ = 0;
  if (hung == peers.end()) return;
  // Others may not have waited for as long, and one of them speaks for all.
  const int rank = int(hung - peers.begin());
  const std::string cause = text("has not answered for ", int(hung->alone ? now - hung->since : waited), " seconds");
  messages_.tell_all(Messages::Word::hung, rank, cause);
  messages_.note_end(rank, exit_code(ErrorKind::failed), cause);
  throw RankLost();
}

// Whoever speaks for all: rank 0, unless it has hung. One that goes on after all may have heard so of itself.
int MpiRanks::speaker() const {
  int out = 0;
  while (out + 1 < size() && ending(out).ended && ending(out).cause.starts_with("has not answered")) ++out;
  return out;
}

std::vector<RankEnding> MpiRanks::endings_of_all() {
  const double end = seconds_now() + kGrace + (speaker() == rank() ? 0 : kGrace / 2);
  const auto has_ended = [](const Peer& peer) { return peer.ending.ended; };
  do {
    messages_.take();
    if (speaker() == rank() && std::ranges::all_of(messages_.peers(), has_ended)) break;
    usleep(1000);
  } while (seconds_now() < end);
  std::vector<RankEnding> out;
  for (const Peer& peer : messages_.peers()) out.push_back(peer.ending);
  return out;
}

std::vector<RankEnding> MpiRanks::end(const RankEnding& own) {
  int code = own.code;
  std::string cause = own.cause;
  if (!has_failed(own)) try {
      MPI_Request all = MPI_REQUEST_NULL;
      check_mpi(MPI_Ibarrier(arrays_, &all), "leaving the other ranks");
      wait(AllDone({&all, 1}));
      MPI_Finalize();
      return {};
    } catch (const Error&) {
      code = kLostCode;
    }
  messages_.note_end(rank(), code, cause);
  messages_.tell_all(Messages::Word::ended, code, cause);
  return endings_of_all();
}

void MpiRanks::end_all(int code) {
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, code);
  _exit(code);
}

// All ranks get the first `count` elements of outgoing_, and add them up in incoming_.
template <typename T>
void MpiRanks::sum_whole(int64_t count) {
  const size_t bytes = size_t(count) * sizeof(T);
  const std::vector<Given> give(size_t(size()), Given{outgoing_.data(), bytes});
  std::vector<Taken> take;
  std::vector<const T*> parts;
  for (int k = 0; k < size(); ++k) {
    take.push_back({incoming_.data() + size_t(k) * kPart, bytes});
    parts.push_back(reinterpret_cast<const T*>(k == rank() ? outgoing_.data() : take.back().data));
  }
  pass(give, take);
  add_ranks(parts.data(), size(), count, reinterpret_cast<T*>(incoming_.data()));
}

// The same by shares: each rank adds up its own share, and gives that to the others.
template <typename T>
void MpiRanks::sum_shares(int64_t count) {
  T* const numbers = reinterpret_cast<T*>(outgoing_.data());
  const int64_t most = (count + size() - 1) / size();
  const auto first = [&](int k) { return std::min(count, most * k); };
  const auto bytes = [&](int k) { return size_t(first(k + 1) - first(k)) * sizeof(T); };
  std::vector<Given> give;
  std::vector<Taken> take;
  std::vector<const T*> parts;
  T* const own = numbers + first(rank());
  for (int k = 0; k < size(); ++k) {
    give.push_back({numbers + first(k), bytes(k)});
    take.push_back({incoming_.data() + size_t(k) * kPart, bytes(rank())});
    parts.push_back(k == rank() ? own : reinterpret_cast<const T*>(take.back().data));
  }
  pass(give, take);
  add_ranks(parts.data(), size(), first(rank() + 1) - first(rank()), own);
  T* const sums = reinterpret_cast<T*>(incoming_.data());
  for (int k = 0; k < size(); ++k) {
    give[size_t(k)] = {own, bytes(rank())};
    take[size_t(k)] = {sums + first(k), bytes(k)};
  }
  pass(give, take);
  std::memcpy(sums + first(rank()), own, bytes(rank()));
}

template <typename T>
void MpiRanks::sum_as(std::span<const Summand> arrays) {
  const auto most = int64_t(kPart / sizeof(T)) * size();
  Places sources(arrays), targets(arrays);
  while (true) {
    T* const own = reinterpret_cast<T*>(outgoing_.data());
    const int64_t count = sources.next(most, [&](const Summand& array, int64_t first, int64_t place, int64_t n) {
      std::memcpy(own + place, static_cast<const T*>(array.from) + first, size_t(n) * sizeof(T));
    });
    if (count == 0) return;
    if (size_t(count) * sizeof(T) <= kWhole) sum_whole<T>(count);
    else sum_shares<T>(count);
    const T* const sums = reinterpret_cast<const T*>(incoming_.data());
    targets.next(most, [&](const Summand& array, int64_t first, int64_t place, int64_t n) {
      std::memcpy(static_cast<T*>(array.to) + first, sums + place, size_t(n) * sizeof(T));
    });
  }
}

void MpiRanks::sum(std::span<const Summand> arrays, DType dtype) {
  sum_in_type(dtype, [&]<typename T>() { sum_as<T>(arrays); });
}

// As many parts as the largest of this rank's numbers asks; two ranks agree on how many lie between them.
void MpiRanks::all_to_all(std::span<const Given> give, std::span<const Taken> take) {
  size_t largest = 0;
  for (int k = 0; k < size(); ++k) largest = std::max({largest, give[size_t(k)].bytes, take[size_t(k)].bytes});
  for (size_t at = 0; at < largest; at += kPart) {
    const auto bytes_of = [&](size_t bytes) { return at < bytes ? std::min(kPart, bytes - at) : 0; };
    std::vector<Given> parts;
    std::vector<Taken> places;
    for (size_t k = 0; k < give.size(); ++k) {
      parts.push_back({outgoing_.data() + k * kPart, bytes_of(give[k].bytes)});
      places.push_back({incoming_.data() + k * kPart, bytes_of(take[k].bytes)});
      if (parts[k].bytes > 0)
        std::memcpy(outgoing_.data() + k * kPart, static_cast<const std::byte*>(give[k].data) + at, parts[k].bytes);
    }
    pass(parts, places);
    for (size_t k = 0; k < take.size(); ++k)
      if (places[k].bytes > 0)
        std::memcpy(static_cast<std::byte*>(take[k].data) + at, int(k) == rank() ? parts[k].data : places[k].data,
                    places[k].bytes);
  }
}

}  // namespace neon
