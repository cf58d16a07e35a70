// Which backend -b, neon 0.9's -g and -i ask for together.
#pragma once
#include <string>

namespace neon {

// Their values on the command line, or in a file of options; "" of one that is not there.
struct BackendWords {
  std::string backend, gpu, device_id;
};

// cpu, gpu, or "" when nothing is asked for. Throws a config error when one asks for the CPU and another for a GPU;
// `where` begins its line.
std::string asked_backend(const BackendWords& words, const std::string& where);

}  // namespace neon
