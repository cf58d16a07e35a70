// Whether generated kernels compile, found out in half of the time that their machine code takes a program.
#pragma once
#include <string>
#include <vector>

namespace neon::test {

// What NVRTC says against the first of the sources that does not compile for compute capability `arch`, with its text;
// "" where all do. The code is made and thrown away: of several kernels at a time, as the head of all of them takes
// most of the time, and with the least optimization where NVRTC has a choice (CUDA 12.9). PTX takes a fifth of the time
// of machine code, but nobody reads the instructions in `asm` then.
enum class Code { machine, ptx };
std::string compile_error(const std::vector<std::string>& sources, int arch, Code code = Code::machine);

}  // namespace neon::test
