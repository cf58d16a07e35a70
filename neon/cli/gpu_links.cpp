#include "neon/cli/gpu_links.h"

#include <algorithm>
#include <map>

#include "neon/core/text.h"

namespace neon {

std::vector<std::string> link_lines(const std::vector<GpuLink>& links) {
  std::map<std::string, std::vector<std::string>> pairs;
  for (const GpuLink& link : links) {
    const char* const kind = !link.direct   ? "no direct access; NCCL copies through the host's memory"
                             : link.atomics ? "direct access with atomics, as over NVLink"
                                            : "direct access without atomics, as over PCIe";
    pairs[kind].push_back(text(link.first, "-", link.second));
  }
  std::vector<std::string> out;
  for (const auto& [kind, of] : pairs) out.push_back(text("GPUs ", join(of, ", "), ": ", kind));
  return out;
}

namespace {

size_t usable_of(const std::vector<GpuInfo>& gpus) {
  return size_t(std::ranges::count_if(gpus, [](const GpuInfo& gpu) { return gpu.unusable.empty(); }));
}

// Why NCCL cannot be used; "" where it can.
std::string problem_of_nccl(const std::vector<FoundLibrary>& libraries) {
  const auto nccl = std::ranges::find(libraries, "NCCL", &FoundLibrary::name);
  if (nccl == libraries.end()) return "this neon was built without NCCL, which adds up their gradients";
  return nccl->problem;
}

}  // namespace

bool can_join(const std::vector<GpuInfo>& gpus, const std::vector<FoundLibrary>& libraries) {
  return gpus.size() > 1 && usable_of(gpus) == gpus.size() && problem_of_nccl(libraries).empty();
}

std::string several_gpus_text(const std::vector<GpuInfo>& gpus, const std::vector<FoundLibrary>& libraries) {
  if (gpus.size() < 2) return "";
  if (const std::string problem = problem_of_nccl(libraries); !problem.empty()) return "not used: " + problem;
  const size_t usable = usable_of(gpus);
  if (usable < 2) return text("not used: only ", usable, " of ", gpus.size(), " GPUs can be used");
  return text("up to ", usable, ", by -m N or --gpus all; neon bench -m ", usable, " SPEC times their step");
}

}  // namespace neon
