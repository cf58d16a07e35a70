// Images that the generator of an adversarial net makes, on a sheet.
#pragma once
#include <memory>
#include <string>

#include "neon/train/callback.h"
#include "neon/train/run_setup.h"

namespace neon {

// Draws options.batch images by the noise of options.seed. All arrays of the net are declared among `variables`.
class SheetProgram {
 public:
  SheetProgram(const Network& network, const SampleMeaning& meaning, const StepOptions& options, Variables& variables,
               const DeviceOptions& device);
  void draw(const std::string& path);

 private:
  const SampleMeaning meaning_;
  std::unique_ptr<Program> program_;
};

// The sheets that callbacks ask for: of running means of the weights where a run keeps these, as neon sample has them.
class MadeSheets {
 public:
  // Draws the one of this epoch, if there is any. The variables are on the host. Returns why it could not, or "".
  std::string draw(const RunSetup& setup, const Position& position, Variables& variables, Listener& listener,
                   const EpochEnd& end);

 private:
  Variables averages_;  // used with running means only
  std::unique_ptr<SheetProgram> program_;
};

}  // namespace neon
