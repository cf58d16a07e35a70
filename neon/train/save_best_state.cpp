// SaveBestState: the best net of a run in a file of the user's, as neon 1.x wrote it. The run's folder keeps that net
// anyway; the command line copies it (neon/cli/best_state.h).
#include "neon/train/callback.h"

namespace neon {

namespace {

struct SaveBestStateParams {
  std::string path;
  static void describe(auto&& p) {
    p("path", &SaveBestStateParams::path,
      "File that gets the best net at the run's end, in the current folder or below. \"\": best.safetensors in the "
      "run's "
      "folder alone, which every run with an evaluation writes.");
  }
};

class SaveBestState : public Parametrized<Callback, SaveBestStateParams> {
 public:
  using Parametrized::Parametrized;
  bool needs_evaluation() const override { return true; }
};
NEON_REGISTER(Callback, SaveBestState,
              "Copies the run's best net, by the first metric or the cost of an evaluation, to a file of its own.",
              {"SaveBestStateCallback"});

}  // namespace

}  // namespace neon
