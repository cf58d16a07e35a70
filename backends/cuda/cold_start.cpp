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
  if (ended.stop_requested() || told_.exchange(true)) return;
  const DiskCache cache("", "");
  std::string where = text("only this first time: they are kept in ", cache.folder());
  if (cache.folder().empty()) where = "anew each time, as there is no cache folder (NEON_CACHE_DIR)";
  else if (!cache.keeps()) where = text("anew each time, as ", cache.folder(), " cannot be written (NEON_CACHE_DIR)");
  listener_->waiting("compiling and choosing kernels for the GPU, " + where);
}

}  // namespace neon::cuda
