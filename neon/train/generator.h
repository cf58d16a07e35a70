// Texts that a net goes on with, token by token.
#pragma once
#include <memory>

#include "backends/device/device.h"
#include "models/generation.h"
#include "neon/train/beam_search.h"

namespace neon {

class Generator : public TokenSource {
 public:
  // Goes on with so many sequences at once. `variables` gets those of the net, whose values the caller sets before the
  // first token.
  Generator(const Network& network, const SampleMeaning& meaning, StepOptions options, Variables& variables,
            const DeviceOptions& device, int64_t sequences);
  Tensor next(const std::vector<int32_t>& tokens) override;
  void reorder(const std::vector<int64_t>& from) override;

 private:
  void reorder_rows(Tensor& rows, const std::vector<int64_t>& from) const;

  Variables& variables_;
  const int64_t sequences_, tokens_;
  // A net whose layers look at the steps before sees as many as it was trained with; others see one, and carry states.
  int64_t window_ = 1;
  std::unique_ptr<Program> program_;
  std::vector<std::vector<int32_t>> seen_;  // of each sequence, the last window_ tokens
  Tensor input_;                            // (N, window_)
  bool begun_ = false;
};

}  // namespace neon
