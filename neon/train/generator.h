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
  void take(const std::vector<int32_t>& tokens);
  void run(bool start);
  void run_token(int64_t place);
  Tensor last_of_window();
  void reorder_rows(Tensor& rows, const std::vector<int64_t>& from) const;

  Variables& variables_;
  const int64_t sequences_, tokens_;
  const Sight sight_;
  // The most steps that the net sees: as many as it was trained with. When they are full, a net that keeps steps goes
  // on from the newer half; one that keeps none sees the newest steps.
  const int64_t window_;
  std::unique_ptr<Program> program_;
  std::vector<std::vector<int32_t>> seen_;  // the tokens of each sequence that the net sees
  Tensor input_, place_;                    // (N, T) and (N)
  bool begun_ = false;
  bool again_ = false;  // whether the tokens seen are to run from the first on
};

}  // namespace neon
