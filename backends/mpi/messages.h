// Messages of ranks beside the arrays that they exchange: that one works alone, ends, or is still there. A
// rank takes messages while it waits for others.
#pragma once
#include <mpi.h>

#include <list>
#include <string>
#include <vector>

#include "backends/ranks/rank_ending.h"

namespace neon {

// Throws where MPI reports an error.
void check_mpi(int result, const char* doing);

// Another rank, as far as this one has heard.
struct Peer {
  bool alone = false;     // does what the others have no part in
  bool begins = false;    // has said so since it was last looked at
  double since = 0;       // when it was seen to begin
  bool returns = false;   // has done so since it was last looked at
  bool answered = false;  // since it was last asked
  RankEnding ending;
};

class Messages {
 public:
  enum class Word : int { alone, together, ask, here, ended, hung, kept };

  // A channel of its own beside that of `world`. All ranks call this together.
  explicit Messages(MPI_Comm world);
  MPI_Comm channel() const { return channel_; }
  int rank() const { return rank_; }
  int size() const { return int(peers_.size()); }
  std::vector<Peer>& peers() { return peers_; }
  // The text of Ranks::set_kept(), which rank 0 tells.
  std::string& kept() { return kept_; }

  // `code` is an exit code, or the rank that has hung.
  void tell_all(Word word, int code = 0, const std::string& cause = "");
  // Takes what has come, and answers.
  void take();
  // Notes how a rank has ended, unless that is known.
  void note_end(int rank, int code, const std::string& cause);
  // Whether any rank has failed, this one included.
  bool any_failed() const;

 private:
  struct Sending {
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<char> bytes;
  };
  void send(int rank, Word word, int code, const std::string& cause);
  void hear(int rank, const std::vector<char>& bytes);

  MPI_Comm channel_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::vector<Peer> peers_;
  std::list<Sending> sendings_;
  std::string kept_;
  int64_t endings_ = 0;
};

}  // namespace neon
