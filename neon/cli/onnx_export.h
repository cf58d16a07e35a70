// neon export CHECKPOINT --onnx FILE.
#pragma once
#include "neon/cli/session.h"

namespace neon {

// Writes the net of the checkpoint at `path`, reads the file again, computes its outputs by plain loops and compares
// them with neon's own. The file is not there where they differ by more than f32 explains.
int export_onnx(const CommandLine& line, const OpenedRun& opened, const std::string& path);

}  // namespace neon
