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

std::string several_gpus_text(const std::vector<GpuInfo>& gpus, const std::vector<FoundLibrary>& libraries) {
  if (gpus.size() < 2) return "";
  const auto usable = std::ranges::count_if(gpus, [](const GpuInfo& gpu) { return gpu.unusable.empty(); });
  const auto nccl = std::ranges::find(libraries, "NCCL", &FoundLibrary::name);
  if (nccl == libraries.end()) return "not used: this neon was built without NCCL, which adds up their gradients";
  if (!nccl->problem.empty()) return "not used: " + nccl->problem;
  if (usable < 2) return text("not used: only ", usable, " of ", gpus.size(), " GPUs can be used");
  return text("up to ", usable, ", by -m N or --gpus all; neon bench -m ", usable, " SPEC times their step");
}

}  // namespace neon
