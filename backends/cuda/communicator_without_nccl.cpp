// For a build without NCCL's header.
#include "backends/cuda/communicator.h"
#include "neon/core/error.h"

namespace neon::cuda {

std::unique_ptr<Communicator> make_communicator(Ranks&, std::shared_ptr<Device>) {
  fail(ErrorKind::device, "training on several GPUs needs NCCL, and this neon was built without nccl.h; install ",
       "NCCL's header beside CUDA's and build again");
}

}  // namespace neon::cuda
