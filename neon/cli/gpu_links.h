// The lines of neon doctor about several GPUs.
#pragma once
#include "backends/device/cuda_libraries.h"
#include "backends/device/device.h"

namespace neon {

// A line for each kind of link, with the pairs of GPUs that have it.
std::vector<std::string> link_lines(const std::vector<GpuLink>& links);

// Whether a run can use several of these GPUs, or why not; "" with fewer than two.
std::string several_gpus_text(const std::vector<GpuInfo>& gpus, const std::vector<FoundLibrary>& libraries);

// Whether there are several, and one run can use them all.
bool can_join(const std::vector<GpuInfo>& gpus, const std::vector<FoundLibrary>& libraries);

}  // namespace neon
