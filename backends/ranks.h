// Ranks: processes that train one net together, each on its share of every batch. Whatever they compute together they
// call in the same order, as kernels of a step or between steps; each call waits for all ranks.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "neon/core/batch_share.h"
#include "neon/core/dtype.h"
#include "neon/core/error.h"

namespace neon {

// An array of this rank, and where the sum over all ranks goes, which may be the same memory.
struct Summand {
  const void* from = nullptr;
  void* to = nullptr;
  int64_t elements = 0;
};

// Bytes for another rank, and the place of those of another rank.
struct Given {
  const void* data = nullptr;
  size_t bytes = 0;
};
struct Taken {
  void* data = nullptr;
  size_t bytes = 0;
};

// Another rank has ended and gives the reason; the run ends with it.
class RankLost : public Error {
 public:
  explicit RankLost(const std::string& kept = "") : Error(ErrorKind::failed, "another rank has ended"), kept_(kept) {}
  const std::string& kept() const { return kept_; }  // the end of a message that says what is left of the run

 private:
  std::string kept_;
};

// An end that a rank waits for.
class Awaited {
 public:
  virtual bool is_done() const = 0;

 protected:
  ~Awaited() = default;
};

class Ranks {
 public:
  explicit Ranks(RankOf of) : of_(of) {}
  virtual ~Ranks() = default;
  RankOf of() const { return of_; }
  int rank() const { return of_.rank; }
  int size() const { return of_.ranks; }
  // The place of this rank among those of its host.
  virtual RankOf of_host() const { return of_; }
  // Rank 0 writes the files of a run, and talks to people.
  bool leads() const { return of_.rank == 0; }

  // Adds the arrays up over all ranks. Sums are made in the order of ranks, 16-bit types in f32, and are the same bits
  // on every rank. Throws RankLost where a rank is no longer there.
  virtual void sum(std::span<const Summand> arrays, DType dtype) = 0;
  // Gives each rank its bytes, and takes what each rank has for this one: as many bytes as that rank gives. Throws as
  // sum() does.
  virtual void all_to_all(std::span<const Given> give, std::span<const Taken> take) = 0;
  // The number of the signal that whoever started the ranks got for all of them; 0: none.
  virtual int signal() const { return 0; }
  // A seed that all ranks have, for a run without one of its own.
  virtual uint64_t seed() const = 0;
  // All ranks have met, and agree on what they do.
  virtual void set_started() {}
  // The device of this rank, for its name: "GPU 1". Without: the CPU.
  virtual void set_device(const std::string&) {}
  // While this rank waits for its device, and so for what the devices of the others give it.
  virtual void set_waiting(bool) {}
  // Waits until this rank's device has what those of the others give it. Throws RankLost where another rank is no
  // longer there. Ranks over which whoever started them watches return at once.
  virtual void wait_for_device(const Awaited&) {}
  // The end of a message that says what is left of the run if rank 0 ends now; that one, which alone saves, sets it.
  virtual void set_kept(const std::string&) {}
  // While this rank does what the others have no part in, however long that takes.
  virtual void set_alone(bool) {}
  // The name of this rank in messages: "rank 1 of 2 (node7)".
  virtual std::string name() const = 0;

  // Whether this rank alone is there, and its devices exchange nothing (backends/ranks/simulated_ranks.h).
  virtual bool simulated() const { return false; }

  // The numbers of all ranks, those of rank 0 first. Every rank gives as many.
  virtual std::vector<double> gather(std::span<const double> own);
  // The texts of all ranks.
  virtual std::vector<std::string> gather_texts(const std::string& own);
  // Sums of numbers in doubles.
  void sum(std::span<double> numbers);

 private:
  friend class WorkAlone;
  const RankOf of_;
  int alone_ = 0;  // how often WorkAlone is there
};

// While it lives, the rank does what the others have no part in. `ranks` may be null.
class WorkAlone {
 public:
  explicit WorkAlone(Ranks* ranks) : ranks_(ranks) {
    if (ranks_ && ranks_->alone_++ == 0) ranks_->set_alone(true);
  }
  ~WorkAlone() {
    if (ranks_ && --ranks_->alone_ == 0) ranks_->set_alone(false);
  }
  WorkAlone(const WorkAlone&) = delete;

 private:
  Ranks* const ranks_;
};

}  // namespace neon
