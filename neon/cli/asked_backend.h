// Which backend -b, neon 0.9's -g, -i and --gpus ask for together, and how many devices.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace neon {

// Their values on the command line, or in a file of options; "" of one that is not there.
struct BackendWords {
  std::string backend, gpu, device_id, gpus;
};

// cpu, gpu, or "" when nothing is asked for. Throws a config error when one asks for the CPU and another for a GPU;
// `where` begins its line.
std::string asked_backend(const BackendWords& words, const std::string& where);

// neon 0.9's nervanagpu4 becomes nervanagpu, and four.
std::optional<int64_t> take_count_of_gpus(std::string& name);

// The devices that options ask for.
struct DeviceCounts {
  std::optional<int64_t> devices;  // -m
  std::string gpus;                // --gpus: a number, or all
  std::optional<int64_t> named;    // in a name of -g
  std::string name;                // that name
};
struct AskedDevices {
  int64_t count = 1;
  std::string by;  // the option and its value: "--gpus all"; "" where nothing is asked for
};
// Throws a config error for a wrong number, and for two that differ. Throws a device error
// where all GPUs are asked for and no GPU can be used.
AskedDevices asked_devices(const DeviceCounts& counts);

}  // namespace neon
