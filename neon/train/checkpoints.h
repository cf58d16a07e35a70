// The checkpoints of a run: their place is claimed before the first step, and what was saved last is known.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "neon/train/best_checkpoint.h"
#include "neon/train/checkpoint.h"
#include "neon/train/run_setup.h"

namespace neon {

class Checkpoints {
 public:
  // `resumed_from`: the checkpoint that the run goes on from, or "".
  Checkpoints(const RunSetup& setup, const std::string& resumed_from);
  // Makes sure that checkpoints of these variables fit where they go. Throws where they do not. Does nothing for a run
  // that saves none.
  void claim(const Variables& variables);
  // Whether the run saves any.
  bool wanted() const { return !setup_.options.save_path.empty(); }
  // Whether to save at a position between two epochs. Nobody asked for the checkpoints of a run's folder, so those take
  // no more than half a percent of the time. All ranks call this together.
  bool due(const Position& position) const;

  // Whether nothing has changed since the last save.
  bool current() const { return current_; }
  void set_current(bool current) {
    current_ = current;
    if (!current) is_best_ = false;
  }
  // The net at this position is the best so far. Holds a copy of it, which a later save writes, unless a save of the
  // net as it is follows at once. All ranks call this together.
  void set_best(const Position& position, Variables& variables, bool saved_next);
  // Writes one; of several ranks, the leading one does, and the others wait for it. `evaluated`: the last evaluation
  // was of the net as it is. Returns messages. Throws where it fails. Writes the best one, too, where that is new.
  std::vector<std::string> save(const Position& position, Variables& variables, bool evaluated);
  // Writes the best one, where that is only held, as the leading rank does. Returns a warning or "".
  std::string write_best();
  // Before the first step of a run that goes on: see BestCheckpoint::mend. The position forgets a best net that no file
  // of the run's folder holds, or that was the best by another result.
  std::string mend_best(Position& position);
  // The last one written, or "".
  const std::string& last() const { return last_; }
  // The end of a message that says what is left of a run that failed: "; the last good checkpoint is ...".
  std::string kept_text() const;
  // Tells that for the others, who say so where this rank is killed.
  void tell_kept();

 private:
  std::vector<std::string> write(const Position& position, const Variables& variables,
                                 const std::map<std::string, Tensor>& shared);
  TensorFile pack(const Position& position, const Variables& variables,
                  const std::map<std::string, Tensor>& shared) const;
  const RunSetup& setup_;
  const std::string resumed_from_;
  std::unique_ptr<CheckpointSaver> saver_;
  BestCheckpoint best_;
  std::string last_;
  bool last_evaluated_ = false, current_ = false;
  bool is_best_ = false;            // the net as it is
  double started_ = 0, spent_ = 0;  // seconds: when the run began, and for saves
};

}  // namespace neon
