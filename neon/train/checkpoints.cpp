#include "neon/train/checkpoints.h"

#include "neon/train/carried_rows.h"

namespace neon {

namespace {

constexpr double kBytesOfName = 200;  // that a tensor takes in the header, at most

}  // namespace

Checkpoints::Checkpoints(const RunSetup& setup, const std::string& resumed_from)
    : setup_(setup), resumed_from_(resumed_from) {}

void Checkpoints::claim(const Variables& variables) {
  if (!wanted() || !setup_.leads()) return;
  double bytes = 0;
  for (const auto& [name, tensor] : variables.all()) bytes += double(tensor.bytes()) + kBytesOfName;
  saver_ = std::make_unique<CheckpointSaver>(setup_.options.save_path, int(setup_.options.history));
  saver_->claim(int64_t(bytes));
}

std::vector<std::string> Checkpoints::save(const Position& position, Variables& variables, bool evaluated) {
  variables.to_host();
  const std::map<std::string, Tensor> carried = all_carried_rows(variables, setup_);
  std::vector<std::string> messages;
  std::exception_ptr trouble;
  if (setup_.leads()) try {
      messages = write(position, variables, carried);
    } catch (...) {
      trouble = std::current_exception();
    }
  double failed = trouble ? 1 : 0;
  if (setup_.ranks) setup_.ranks->sum(std::span(&failed, 1));
  if (trouble) std::rethrow_exception(trouble);
  if (failed) return {};
  last_ = setup_.options.save_path;
  last_evaluated_ = evaluated;
  current_ = true;
  return messages;
}

std::vector<std::string> Checkpoints::write(const Position& position, const Variables& variables,
                                            const std::map<std::string, Tensor>& carried) {
  NEON_ASSERT(saver_);
  const Experiment& experiment = setup_.experiment;
  const RunOptions& options = setup_.options;
  TensorFile file = pack_run(experiment, experiment.resolved(options), options, position, variables, setup_.data,
                             setup_.of_earlier_phases);
  for (NamedTensor& named : file.tensors)
    if (const auto all = carried.find(named.name); all != carried.end()) named.tensor = all->second;
  const WorkAlone alone(setup_.ranks);
  return saver_->save(std::move(file), position.epoch);
}

std::string Checkpoints::kept_text() const {
  if (!last_.empty())
    return last_evaluated_ ? "; the last good checkpoint is " + last_
                           : "; the last checkpoint is " + last_ + ", whose net was not evaluated";
  if (!resumed_from_.empty()) return "; the checkpoint that it went on from is as it was: " + resumed_from_;
  return wanted() ? "; it had saved no checkpoint yet" : "; no checkpoint was being saved (-s FILE)";
}

}  // namespace neon
