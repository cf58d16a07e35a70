#include "neon/train/checkpoints.h"

namespace neon {

namespace {

constexpr double kBytesOfName = 200;  // that a tensor takes in the header, at most

}  // namespace

Checkpoints::Checkpoints(const RunSetup& setup, const std::string& resumed_from)
    : setup_(setup), resumed_from_(resumed_from) {}

void Checkpoints::claim(const Variables& variables) {
  if (!wanted()) return;
  double bytes = 0;
  for (const auto& [name, tensor] : variables.all()) bytes += double(tensor.bytes()) + kBytesOfName;
  saver_ = std::make_unique<CheckpointSaver>(setup_.options.save_path, int(setup_.options.history));
  saver_->claim(int64_t(bytes));
}

std::vector<std::string> Checkpoints::save(const Position& position, Variables& variables, bool evaluated) {
  NEON_ASSERT(saver_);
  if (setup_.ranks) setup_.ranks->set_alone(true);
  variables.to_host();
  const Experiment& experiment = setup_.experiment;
  const RunOptions& options = setup_.options;
  std::vector<std::string> messages = saver_->save(pack_run(experiment, experiment.resolved(options), options, position,
                                                            variables, setup_.data, setup_.of_earlier_phases),
                                                   position.epoch);
  if (setup_.ranks) setup_.ranks->set_alone(false);
  last_ = options.save_path;
  last_evaluated_ = evaluated;
  current_ = true;
  return messages;
}

std::string Checkpoints::kept_text() const {
  if (!last_.empty())
    return last_evaluated_ ? "; the last good checkpoint is " + last_
                           : "; the last checkpoint is " + last_ + ", whose net was not evaluated";
  if (!resumed_from_.empty()) return "; the checkpoint that it went on from is as it was: " + resumed_from_;
  return wanted() ? "; it had saved no checkpoint yet" : "; no checkpoint was being saved (-s FILE)";
}

}  // namespace neon
