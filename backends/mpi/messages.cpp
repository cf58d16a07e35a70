#include "backends/mpi/messages.h"

#include <algorithm>
#include <cstring>

#include "neon/core/error.h"

namespace neon {

namespace {

// The beginning of a message; the cause follows.
struct Head {
  Messages::Word word;
  int code;
};

constexpr size_t kLongestCause = 1000;  // so that a message waits for no rank that does not take it

}  // namespace

void check_mpi(int result, const char* doing) {
  if (result == MPI_SUCCESS) return;
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(result, words, &length);
  fail(ErrorKind::failed, doing, ": MPI says ", in_quotes(words));
}

Messages::Messages(MPI_Comm world) {
  check_mpi(MPI_Comm_dup(world, &channel_), "bringing ranks together");
  check_mpi(MPI_Comm_set_errhandler(channel_, MPI_ERRORS_RETURN), "bringing ranks together");
  int size = 0;
  MPI_Comm_rank(channel_, &rank_);
  MPI_Comm_size(channel_, &size);
  peers_.resize(size_t(size));
}

void Messages::send(int rank, Word word, int code, const std::string& cause) {
  Sending& sending = sendings_.emplace_back();
  const Head head{word, code};
  const size_t letters = std::min(cause.size(), kLongestCause);
  sending.bytes.resize(sizeof head + letters);
  std::memcpy(sending.bytes.data(), &head, sizeof head);
  cause.copy(sending.bytes.data() + sizeof head, letters);
  check_mpi(MPI_Isend(sending.bytes.data(), int(sending.bytes.size()), MPI_BYTE, rank, 0, channel_, &sending.request),
            "a message between ranks");
}

void Messages::tell_all(Word word, int code, const std::string& cause) {
  for (int k = 0; k < size(); ++k)
    if (k != rank_) send(k, word, code, cause);
}

void Messages::take() {
  while (true) {
    int there = 0, bytes = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, 0, channel_, &there, &status), "a message between ranks");
    if (!there) break;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    std::vector<char> message(static_cast<size_t>(bytes));
    check_mpi(MPI_Recv(message.data(), bytes, MPI_BYTE, status.MPI_SOURCE, 0, channel_, MPI_STATUS_IGNORE),
              "a message between ranks");
    hear(status.MPI_SOURCE, message);
  }
  std::erase_if(sendings_, [](Sending& sending) {
    int done = 0;
    MPI_Test(&sending.request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
}

void Messages::hear(int rank, const std::vector<char>& bytes) {
  Head head{};
  NEON_ASSERT(bytes.size() >= sizeof head);
  std::memcpy(&head, bytes.data(), sizeof head);
  const std::string cause(bytes.begin() + sizeof head, bytes.end());
  Peer& peer = peers_[size_t(rank)];
  switch (head.word) {
    case Word::alone: peer.alone = peer.begins = true; return;
    case Word::together: peer.alone = false, peer.returns = true; return;
    case Word::ask: return send(rank, Word::here, 0, "");
    case Word::here: peer.answered = true; return;
    case Word::ended: return note_end(rank, head.code, cause);
    case Word::kept: kept_ = cause; return;
    case Word::hung: return note_end(head.code, exit_code(ErrorKind::failed), cause);
  }
}

void Messages::note_end(int rank, int code, const std::string& cause) {
  RankEnding& ending = peers_[size_t(rank)].ending;
  if (ending.ended) return;
  ending.ended = true, ending.code = code, ending.cause = cause, ending.at = ++endings_;
}

bool Messages::any_failed() const {
  return std::ranges::any_of(peers_, [](const Peer& peer) { return has_failed(peer.ending); });
}

}  // namespace neon
