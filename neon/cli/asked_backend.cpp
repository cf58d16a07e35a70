#include "neon/cli/asked_backend.h"

#include <charconv>

#include "backends/device/device.h"
#include "neon/core/error.h"
#include "neon/core/text.h"

namespace neon {

namespace {

std::string backend_named(const std::string& name) { return name == "cpu" || name == "mkl" ? "cpu" : "gpu"; }

}  // namespace

std::string asked_backend(const BackendWords& words, const std::string& where) {
  std::string out, by;
  auto ask = [&](const char* option, const std::string& value, const std::string& backend) {
    if (value.empty()) return;
    const std::string said = text(option, ' ', value);
    if (!out.empty() && out != backend)
      fail(ErrorKind::config, where, by, " and ", said, " contradict each other: one asks for the CPU, the other for ",
           "a GPU; leave one out");
    out = backend, by = said;
  };
  ask("-b", words.backend, backend_named(words.backend));
  ask("-g", words.gpu, backend_named(words.gpu));
  ask("-i", words.device_id, "gpu");  // who names a GPU wants it
  ask("--gpus", words.gpus, "gpu");
  return out;
}

std::optional<int64_t> take_count_of_gpus(std::string& name) {
  const size_t stem = name.find_last_not_of("0123456789") + 1;
  if (stem == 0 || stem == name.size() || name.size() - stem > 4 || backend_named(name.substr(0, stem)) != "gpu")
    return {};
  const int64_t count = std::stoll(name.substr(stem));
  if (count == 0) return {};
  name.resize(stem);
  return count;
}

namespace {

int64_t count_of(const std::string& gpus) {
  if (gpus == "all") {
    std::string why_not;
    GpuModule* const module = gpu_module(why_not);
    if (!module)
      fail(ErrorKind::device, "--gpus all: no GPU can be used: ", why_not,
           "; -b cpu -m N takes N processes on the CPU");
    return int64_t(module->devices().size());
  }
  int64_t count = 0;
  const auto [end, error] = std::from_chars(gpus.data(), gpus.data() + gpus.size(), count);
  if (error != std::errc() || end != gpus.data() + gpus.size() || count < 1)
    fail(ErrorKind::config, "option --gpus: expected a number of GPUs from 1 on, or all, got ", in_quotes(gpus));
  return count;
}

}  // namespace

AskedDevices asked_devices(const DeviceCounts& counts) {
  AskedDevices out;
  const auto ask = [&](const std::string& by, int64_t count) {
    if (!out.by.empty() && out.count != count)
      fail(ErrorKind::config, out.by, " and ", by, " ask for ", out.count, " and ", count, " devices; leave one out");
    if (out.by.empty()) out = {count, by};
  };
  if (counts.devices) ask(text("-m ", *counts.devices), *counts.devices);
  if (!counts.gpus.empty()) ask("--gpus " + counts.gpus, count_of(counts.gpus));
  if (counts.named) ask("-g " + counts.name, *counts.named);
  return out;
}

}  // namespace neon
