#include "backends/cuda/cold_start.h"

#include "backends/cuda/disk_cache.h"

namespace neon::cuda {

namespace {

constexpr auto kMoment = std::chrono::seconds(1);

}  // namespace

void ColdStart::begin() {
  if (listener_ && !watcher_.joinable())
    watcher_ = std::jthread([this](std::stop_token ended) { watch(std::move(ended)); });
}

ColdStart::~ColdStart() {
  watcher_.request_stop();
  if (watcher_.joinable()) watcher_.join();  // before what it uses goes
}

void ColdStart::watch(std::stop_token ended) {
  std::unique_lock lock(mutex_);
  change_.wait_for(lock, ended, kMoment, [] { return false; });
  if (ended.stop_requested()) return;
  const std::string folder = DiskCache("", "").folder();
  listener_->waiting(text("compiling and choosing kernels for the GPU, ",
                          folder.empty() ? "anew each time, as there is no cache folder (NEON_CACHE_DIR)"
                                         : text("only this first time: they are kept in ", folder)));
}

}  // namespace neon::cuda
