// The checkpoints of a run: their place is claimed before the first step, and what was saved last is known.
#pragma once
#include <memory>
#include <string>
#include <vector>

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

  // Whether nothing has changed since the last save.
  bool current() const { return current_; }
  void set_current(bool current) { current_ = current; }
  // Writes one; of several ranks, the leading one does, and the others wait for it. `evaluated`: the last evaluation
  // was of the net as it is. Returns messages. Throws where it fails.
  std::vector<std::string> save(const Position& position, Variables& variables, bool evaluated);
  // The last one written, or "".
  const std::string& last() const { return last_; }
  // The end of a message that says what is left of a run that failed: "; the last good checkpoint is ...".
  std::string kept_text() const;

 private:
  std::vector<std::string> write(const Position& position, const Variables& variables,
                                 const std::map<std::string, Tensor>& carried);
  const RunSetup& setup_;
  const std::string resumed_from_;
  std::unique_ptr<CheckpointSaver> saver_;
  std::string last_;
  bool last_evaluated_ = false, current_ = false;
};

}  // namespace neon
