// cuDNN may be called by any thread that has a handle of its own, and a plan may be run with another handle than it was
// made with. Which plans there are, and in which order, is the same for any number of threads.
#include "backends/cuda/convolution_plans.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "backends/cuda/convolution.h"
#include "backends/cuda/disk_cache.h"
#include "neon/core/threads.h"

namespace neon::cuda {

namespace {

constexpr size_t kMostMakers = 8;  // threads
constexpr size_t kOpener = kMostMakers;

// Key of a plan of some kernel of its kind, see open_convolution_library().
std::string some_plan(std::string_view op, bool of_pixels) {
  return text("some plan of ", op, of_pixels ? " of pixels" : "");
}

// Whether each window is a pixel.
bool is_of_pixels(const ConvolutionCase& of) {
  const Shape& w = of.filters().shape;
  return w.elements() == w[0] * w.back();
}

DiskCache cache_of(const Device& device) {
  return DiskCache("honest plan", text(device.name(), " cudnn ", cudnn().version()));
}

}  // namespace

void open_convolution_library(const std::function<std::shared_ptr<Device>()>& open_device) {
  cudnn();
  // Opens the libraries beside it that cuDNN would open later.
  Dl_info info{};
  const std::string file = dladdr(reinterpret_cast<void*>(cudnn().version), &info) ? info.dli_fname : "";
  for (const char* part : {"graph", "engines_precompiled"})
    dlopen(text(file.substr(0, file.rfind('/') + 1), "libcudnn_", part, ".so.", CUDNN_MAJOR).c_str(),
           RTLD_NOW | RTLD_LOCAL);
  const std::shared_ptr<Device> device = open_device();
  static std::mutex mutex;
  const std::lock_guard lock(mutex);  // several may wake it up
  const cudnnHandle_t handle = cudnn_handle(*device, kOpener);
  for (const char* op : {"convolution", "convolution_data_gradient", "convolution_weight_gradient"})
    for (const bool of_pixels : {false, true})
      if (std::string known; cache_of(*device).read(some_plan(op, of_pixels), known)) Plan::from_json(handle, known);
}

void ConvolutionPlans::add(const ConvolutionCase& of, ColdStart* cold,
                           std::vector<std::pair<const ConvolutionCase*, Entry*>>& work) {
  const std::string key = of.key();
  if (const auto used = used_.find(key); used != used_.end() && !used->second.expired()) return;
  const auto [entry, added] = made_.try_emplace(key);
  if (!added) return;
  if (!cache_of(*device_).read(key, entry->second.known) && cold) cold->begin();
  work.emplace_back(&of, &entry->second);
}

void ConvolutionPlans::make(const std::vector<ConvolutionCase>& cases, ColdStart* cold) {
  made_.clear();
  std::vector<std::pair<const ConvolutionCase*, Entry*>> work;
  for (const ConvolutionCase& of : cases) add(of, cold, work);
  if (work.empty()) return;
  cudnn_handle(*device_, 0);  // what all handles share is made by the first
  std::atomic<size_t> next = 0;
  const auto maker = [&](size_t worker) {
    for (size_t w; (w = next++) < work.size();) make_one(*work[w].first, *work[w].second, worker);
  };
  const size_t count = std::min({work.size(), size_t(available_threads()), kMostMakers});
  std::vector<std::jthread> threads;
  for (size_t worker = 1; worker < count; ++worker) threads.emplace_back(maker, worker);
  maker(0);
}

void ConvolutionPlans::make_one(const ConvolutionCase& of, Entry& entry, size_t worker) const {
  try {
    const cudnnHandle_t handle = cudnn_handle(*device_, worker);
    if (!entry.known.empty())
      for (Plan& plan : Plan::from_json(handle, entry.known))
        entry.found.chosen = std::make_shared<const Plan>(std::move(plan));
    if (!entry.found.chosen) entry.found.candidates = of.plans(handle);
  } catch (...) {
    entry.problem = std::current_exception();
  }
}

ConvolutionPlans::Found ConvolutionPlans::take(const ConvolutionCase& of, ColdStart* cold) {
  const std::string key = of.key();
  if (const auto used = used_.find(key); used != used_.end())
    if (auto plan = used->second.lock()) return {std::move(plan), {}};
  std::vector<std::pair<const ConvolutionCase*, Entry*>> work;
  add(of, cold, work);
  for (const auto& [one, entry] : work) make_one(*one, *entry, 0);
  Entry entry = std::move(made_.extract(key).mapped());
  if (entry.problem) std::rethrow_exception(entry.problem);
  if (entry.found.chosen) used_[key] = entry.found.chosen;
  return std::move(entry.found);
}

std::shared_ptr<const Plan> ConvolutionPlans::choose(const ConvolutionCase& of, Plan plan, bool for_good) {
  const auto chosen = std::make_shared<const Plan>(std::move(plan));
  if (!for_good) return chosen;
  std::erase_if(used_, [](const auto& entry) { return entry.second.expired(); });
  used_[of.key()] = chosen;
  const DiskCache cache = cache_of(*device_);
  cache.write(of.key(), chosen->json());
  // One with bias, addend or relu is compiled when it is read, for a second or two.
  if (!of.has_bias && !of.has_addend && !of.relu) cache.write(some_plan(of.op->name, is_of_pixels(of)), chosen->json());
  return chosen;
}

}  // namespace neon::cuda
