// The best checkpoint of a run, beside the last one: best.safetensors in the run's folder. Where the net was saved when
// it was the best, this is a second name of that file; else the net is held in memory until a save has time for it.
#pragma once
#include <string>
#include <vector>

#include "neon/train/safetensors.h"

namespace neon {

class BestCheckpoint {
 public:
  // "": none is kept.
  explicit BestCheckpoint(std::string path) : path_(std::move(path)) {}
  bool wanted() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  bool is_there() const;
  // Whether this process has written one.
  bool written() const { return written_; }

  // Holds a copy of the net.
  void hold(const TensorFile& net, int64_t epoch);
  // Writes the net that is held, if there is one; a net that could not be written stays held. The following return a
  // warning, or "".
  std::string write();
  // The checkpoint at this path is the best. On a disk without hard links it is copied.
  std::string take(const std::string& checkpoint);
  // A run that was cut short between the last two of its changes has its best net under the last one's name alone:
  // mends that. `epoch` is the one of the best net.
  std::string mend(const std::string& checkpoint, int64_t epoch);

 private:
  std::string beside() const { return path_ + ".new"; }
  void drop() { held_ = {}, holds_ = false; }
  void put();
  std::string path_;
  TensorFile held_;
  int64_t epoch_ = 0;
  bool holds_ = false, written_ = false;
};

}  // namespace neon
