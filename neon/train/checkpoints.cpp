#include "neon/train/checkpoints.h"

#include "neon/core/paths.h"
#include "neon/train/best_result.h"
#include "neon/train/clock.h"
#include "neon/train/run_folder.h"
#include "neon/train/shared_rows.h"

namespace neon {

namespace {

constexpr double kBytesOfName = 200;  // that a tensor takes in the header, at most

}  // namespace

Checkpoints::Checkpoints(const RunSetup& setup, const std::string& resumed_from)
    : setup_(setup),
      resumed_from_(resumed_from),
      best_(setup.options.run_folder.empty() ? "" : join_path(setup.options.run_folder, kBestFile)),
      started_(now_seconds()) {}

void Checkpoints::claim(const Variables& variables) {
  if (!wanted() || !setup_.leads()) return;
  const double bytes = bytes_with_all_rows(variables, setup_) + kBytesOfName * double(variables.all().size());
  const WorkAlone alone(setup_.ranks);
  saver_ = std::make_unique<CheckpointSaver>(setup_.options.save_path, int(setup_.options.history));
  saver_->claim(int64_t(bytes));
}

bool Checkpoints::due(const Position& position) const {
  constexpr double kShare = 0.005, kFirstAfter = 1;
  if (!wanted() || !setup_.options.serialize.contains(position.epoch)) return false;
  if (!saves_in_run_folder(setup_.options)) return true;
  const double seconds = now_seconds() - started_;
  double due = seconds > kFirstAfter && spent_ < kShare * seconds;
  if (!setup_.ranks) return due > 0;
  if (!setup_.leads()) due = 0;
  setup_.ranks->sum(std::span(&due, 1));
  return due > 0;
}

void Checkpoints::set_best(const Position& position, Variables& variables, bool saved_next) {
  is_best_ = true;
  if (!best_.wanted() || saved_next) return;
  variables.to_host();
  const std::map<std::string, Tensor> shared = with_all_rows(variables, setup_);
  if (setup_.leads()) best_.hold(pack(position, variables, shared), position.epoch);
}

std::vector<std::string> Checkpoints::save(const Position& position, Variables& variables, bool evaluated) {
  const double began = now_seconds();
  variables.to_host();
  const std::map<std::string, Tensor> shared = with_all_rows(variables, setup_);
  std::vector<std::string> messages;
  std::exception_ptr trouble;
  const auto note_saved = [&] { last_ = setup_.options.save_path, last_evaluated_ = evaluated; };
  if (setup_.leads()) try {
      messages = write(position, variables, shared);
      note_saved();
      tell_kept();  // before other ranks, one of which may be lost by now, agree
    } catch (...) {
      trouble = std::current_exception();
    }
  double failed = trouble ? 1 : 0;
  if (setup_.ranks) setup_.ranks->sum(std::span(&failed, 1));
  if (trouble) std::rethrow_exception(trouble);
  if (failed) return {};
  note_saved();
  current_ = true;
  spent_ += now_seconds() - began;
  return messages;
}

std::vector<std::string> Checkpoints::write(const Position& position, const Variables& variables,
                                            const std::map<std::string, Tensor>& shared) {
  NEON_ASSERT(saver_);
  TensorFile file = pack(position, variables, shared);
  const WorkAlone alone(setup_.ranks);
  std::string warning = is_best_ ? "" : best_.write();
  std::vector<std::string> messages;
  try {
    messages = saver_->save(file, position.epoch);
  } catch (const Error&) {
    if (is_best_ && best_.wanted()) best_.hold(file, position.epoch);
    throw;
  }
  if (is_best_ && best_.wanted()) warning = best_.take(setup_.options.save_path);
  else if (!warning.empty()) warning = best_.write();  // the disk has taken the other one
  if (!warning.empty()) messages.push_back(warning);
  return messages;
}

std::string Checkpoints::write_best() {
  const WorkAlone alone(setup_.ranks);
  return best_.write();
}

void Checkpoints::tell_kept() {
  if (setup_.ranks && setup_.leads()) setup_.ranks->set_kept(kept_text());
}

static void forget_best(Position& position) {
  position.best.reset(), position.best_cost.reset();
  position.best_epoch = 0;
}

std::string Checkpoints::mend_best(Position& position) {
  if (!best_.wanted() || position.best_epoch == 0) return "";
  if (position.best_of != name_of_best(setup_.experiment)) {
    const std::string other = position.best_of;
    forget_best(position);
    return text("note: the best net was that by ", other.empty() ? "another result" : other, "; from now on ",
                name_of_best(setup_.experiment), " tells");
  }
  if (position.best_epoch == position.epoch && position.step_in_epoch == 0)
    return setup_.leads() ? best_.mend(resumed_from_, position.best_epoch) : "";
  if (best_.is_there()) return "";
  forget_best(position);
  return "";
}

TensorFile Checkpoints::pack(const Position& position, const Variables& variables,
                             const std::map<std::string, Tensor>& shared) const {
  const Experiment& experiment = setup_.experiment;
  const RunOptions& options = setup_.options;
  TensorFile file = pack_run(experiment, experiment.resolved(options), options, position, variables, setup_.data,
                             setup_.of_earlier_phases);
  for (NamedTensor& named : file.tensors)
    if (const auto all = shared.find(named.name); all != shared.end()) named.tensor = all->second;
  return file;
}

std::string Checkpoints::kept_text() const {
  if (!last_.empty())
    return last_evaluated_ ? "; the last good checkpoint is " + last_
                           : "; the last checkpoint is " + last_ + ", whose net was not evaluated";
  if (best_.written()) return "; the last good checkpoint is " + best_.path();
  if (!resumed_from_.empty()) return "; the checkpoint that it went on from is as it was: " + resumed_from_;
  return wanted() ? "; it had saved no checkpoint yet" : "; no checkpoint was being saved (-s FILE)";
}

}  // namespace neon
