#include "backends/cuda/communicator.h"

#include <nccl.h>

#include <algorithm>
#include <type_traits>

#include "backends/cuda/library.h"
#include "neon/core/error.h"

namespace neon::cuda {

namespace {

struct Nccl {
  Library library{"training on several GPUs", CudaLibrary::nccl};
  decltype(ncclGetUniqueId)* unique_id;
  decltype(ncclCommInitRank)* init;
  decltype(ncclCommAbort)* abort;
  decltype(ncclAllReduce)* all_reduce;
  decltype(ncclAllGather)* all_gather;
  decltype(ncclReduceScatter)* reduce_scatter;
  decltype(ncclBroadcast)* broadcast;
  decltype(ncclReduce)* reduce;
  decltype(ncclSend)* send;
  decltype(ncclRecv)* receive;
  decltype(ncclGroupStart)* group_start;
  decltype(ncclGroupEnd)* group_end;
  decltype(ncclGetErrorString)* words;
  decltype(ncclGetLastError)* last_error;
  Nccl() {
    library.find(unique_id, "ncclGetUniqueId");
    library.find(init, "ncclCommInitRank");
    library.find(abort, "ncclCommAbort");
    library.find(all_reduce, "ncclAllReduce");
    library.find(all_gather, "ncclAllGather");
    library.find(reduce_scatter, "ncclReduceScatter");
    library.find(broadcast, "ncclBroadcast");
    library.find(reduce, "ncclReduce");
    library.find(send, "ncclSend");
    library.find(receive, "ncclRecv");
    library.find(group_start, "ncclGroupStart");
    library.find(group_end, "ncclGroupEnd");
    library.find(words, "ncclGetErrorString");
    library.find(last_error, "ncclGetLastError");
  }
};

const Nccl& nccl() {
  static const Nccl loaded;
  return loaded;
}

void check_nccl(ncclResult_t result, const char* doing) {
  if (result == ncclSuccess) return;
  std::string said = nccl().last_error(nullptr);
  while (said.ends_with('\n')) said.pop_back();
  fail(ErrorKind::device, doing, ": NCCL says ", in_quotes(nccl().words(result)), said.empty() ? "" : ", " + said,
       "; NCCL_DEBUG=INFO in the environment shows why");
}

ncclDataType_t nccl_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return ncclFloat64;
    case DType::f32: return ncclFloat32;
    case DType::f16: return ncclFloat16;
    case DType::bf16: return ncclBfloat16;
    default: fail(ErrorKind::failed, "ranks exchange no ", dtype);
  }
}

bool are_even(const RankRows& rows) {
  return std::ranges::all_of(rows.rows, [&](int64_t count) { return count == rows.rows[0]; });
}

// The elements of a part of an array, and where they begin.
template <typename Byte>
Byte* part_at(Byte* array, int64_t elements, DType dtype) {
  using Bytes = std::conditional_t<std::is_const_v<Byte>, const std::byte, std::byte>;
  return static_cast<Bytes*>(array) + elements * int64_t(size_of(dtype));
}

class NcclCommunicator : public Communicator {
 public:
  NcclCommunicator(Ranks& ranks, std::shared_ptr<Device> device) : device_(std::move(device)) {
    ncclUniqueId id{};
    if (ranks.leads()) check_nccl(nccl().unique_id(&id), "bringing GPUs together");
    char* const bytes = reinterpret_cast<char*>(&id);
    const std::string of_first = ranks.gather_texts(std::string(bytes, sizeof id)).front();
    of_first.copy(bytes, sizeof id);
    device_->make_current();
    check_nccl(nccl().init(&communicator_, ranks.size(), id, ranks.rank()), "bringing GPUs together");
  }
  ~NcclCommunicator() override { nccl().abort(communicator_); }

  void sum(std::span<const Summand> arrays, DType dtype, CUstream stream) override {
    check_nccl(nccl().group_start(), "a sum over GPUs");
    for (const Summand& array : arrays)
      if (array.elements > 0)
        check_nccl(nccl().all_reduce(array.from, array.to, size_t(array.elements), nccl_type(dtype), ncclSum,
                                     communicator_, reinterpret_cast<cudaStream_t>(stream)),
                   "a sum over GPUs");
    check_nccl(nccl().group_end(), "a sum over GPUs");
  }

  void all_gather(std::span<const MovedRows> arrays, DType dtype, CUstream stream) override {
    check_nccl(nccl().group_start(), kGathering);
    for (const MovedRows& each : arrays) gather(each, dtype, reinterpret_cast<cudaStream_t>(stream));
    check_nccl(nccl().group_end(), kGathering);
  }

  void reduce_scatter(std::span<const MovedRows> arrays, DType dtype, CUstream stream) override {
    check_nccl(nccl().group_start(), kScattering);
    for (const MovedRows& each : arrays) scatter(each, dtype, reinterpret_cast<cudaStream_t>(stream));
    check_nccl(nccl().group_end(), kScattering);
  }

  void columns_to_rows(const MovedRows& array, DType dtype, CUstream stream) override {
    const auto& [from, parts, rows, row] = array;
    check_nccl(nccl().group_start(), kMoving);
    for (int k = 0; k < rows.ranks(); ++k) {
      send(part_at(from, rows.first(k) * row, dtype), rows.rows[size_t(k)] * row, dtype, k, stream);
      receive(part_at(parts, k * rows.own() * row, dtype), rows.own() * row, dtype, k, stream);
    }
    check_nccl(nccl().group_end(), kMoving);
  }

  void rows_to_columns(const MovedRows& array, DType dtype, CUstream stream) override {
    const auto& [parts, to, rows, row] = array;
    check_nccl(nccl().group_start(), kMoving);
    for (int k = 0; k < rows.ranks(); ++k) {
      send(part_at(parts, k * rows.own() * row, dtype), rows.own() * row, dtype, k, stream);
      receive(part_at(to, rows.first(k) * row, dtype), rows.rows[size_t(k)] * row, dtype, k, stream);
    }
    check_nccl(nccl().group_end(), kMoving);
  }

 private:
  static constexpr const char *kGathering = "gathering rows of GPUs", *kScattering = "a sum over GPUs by rows",
                              *kMoving = "moving rows between GPUs";

  // Where ranks have different numbers of rows, NCCL moves those of each rank by themselves.
  void gather(const MovedRows& array, DType dtype, cudaStream_t stream) const {
    const auto& [own, to, rows, row] = array;
    if (are_even(rows))
      return check_nccl(nccl().all_gather(own, to, size_t(rows.own() * row), nccl_type(dtype), communicator_, stream),
                        kGathering);
    for (int k = 0; k < rows.ranks(); ++k) {
      if (rows.rows[size_t(k)] == 0) continue;
      void* const place = part_at(to, rows.first(k) * row, dtype);
      check_nccl(nccl().broadcast(k == rows.rank ? own : place, place, size_t(rows.rows[size_t(k)] * row),
                                  nccl_type(dtype), k, communicator_, stream),
                 kGathering);
    }
  }

  void scatter(const MovedRows& array, DType dtype, cudaStream_t stream) const {
    const auto& [from, own, rows, row] = array;
    if (are_even(rows))
      return check_nccl(
          nccl().reduce_scatter(from, own, size_t(rows.own() * row), nccl_type(dtype), ncclSum, communicator_, stream),
          kScattering);
    for (int k = 0; k < rows.ranks(); ++k)
      if (rows.rows[size_t(k)] > 0)
        check_nccl(nccl().reduce(part_at(from, rows.first(k) * row, dtype), own, size_t(rows.rows[size_t(k)] * row),
                                 nccl_type(dtype), ncclSum, k, communicator_, stream),
                   kScattering);
  }

  void send(const void* from, int64_t elements, DType dtype, int rank, CUstream stream) const {
    check_nccl(nccl().send(from, size_t(elements), nccl_type(dtype), rank, communicator_,
                           reinterpret_cast<cudaStream_t>(stream)),
               kMoving);
  }
  void receive(void* to, int64_t elements, DType dtype, int rank, CUstream stream) const {
    check_nccl(nccl().receive(to, size_t(elements), nccl_type(dtype), rank, communicator_,
                              reinterpret_cast<cudaStream_t>(stream)),
               kMoving);
  }

  std::shared_ptr<Device> device_;
  ncclComm_t communicator_ = nullptr;
};

}  // namespace

std::unique_ptr<Communicator> make_communicator(Ranks& ranks, std::shared_ptr<Device> device) {
  return std::make_unique<NcclCommunicator>(ranks, std::move(device));
}

}  // namespace neon::cuda
