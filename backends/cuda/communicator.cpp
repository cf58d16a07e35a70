#include "backends/cuda/communicator.h"

#include <nccl.h>

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
  decltype(ncclGroupStart)* group_start;
  decltype(ncclGroupEnd)* group_end;
  decltype(ncclGetErrorString)* words;
  decltype(ncclGetLastError)* last_error;
  Nccl() {
    library.find(unique_id, "ncclGetUniqueId");
    library.find(init, "ncclCommInitRank");
    library.find(abort, "ncclCommAbort");
    library.find(all_reduce, "ncclAllReduce");
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

 private:
  std::shared_ptr<Device> device_;
  ncclComm_t communicator_ = nullptr;
};

}  // namespace

std::unique_ptr<Communicator> make_communicator(Ranks& ranks, std::shared_ptr<Device> device) {
  return std::make_unique<NcclCommunicator>(ranks, std::move(device));
}

}  // namespace neon::cuda
