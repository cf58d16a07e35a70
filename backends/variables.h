// Variables: arrays by name that outlive every program, and that programs share.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "neon/core/tensor.h"

namespace neon {

class Variables;

// The copies of variables that the programs of one device work on.
class VariableMirror {
 public:
  virtual ~VariableMirror() = default;
  virtual void upload(Variables& variables) = 0;
  virtual void download(Variables& variables) = 0;
};

// Parameters, optimizer state, running statistics: arrays by name that outlive every program. The programs of a GPU
// share copies of their own there; on the CPU the arrays are the only ones, and the two calls move nothing. Programs of
// either keep what they have made of variables, until another writes those or to_device() is called.
class Variables {
 public:
  // After the host wrote to its arrays.
  void to_device() {
    note_writes();
    mirror_ ? mirror_->upload(*this) : void();
  }
  void to_host() { mirror_ ? mirror_->download(*this) : void(); }  // before the host reads them
  // Another number after everyone who wrote to them.
  uint64_t writes() const { return writes_; }
  void note_writes() { ++writes_; }
  const std::shared_ptr<VariableMirror>& mirror() const { return mirror_; }
  void set_mirror(std::shared_ptr<VariableMirror> mirror) { mirror_ = std::move(mirror); }

  // Makes a zero array, or checks that the one of this name is of this type.
  Tensor& declare(const std::string& name, DType dtype, const Shape& shape);
  Tensor& at(const std::string& name);
  const Tensor& at(const std::string& name) const;
  bool has(const std::string& name) const { return tensors_.count(name) > 0; }
  const std::map<std::string, Tensor>& all() const { return tensors_; }

 private:
  std::map<std::string, Tensor> tensors_;
  std::shared_ptr<VariableMirror> mirror_;
  uint64_t writes_ = 0;
};

// The writes to its variables that one program has seen.
class WritesSeen {
 public:
  // Before a run, which writes variables or not: whether others have written some since the last one.
  bool take(Variables& variables, bool run_writes) {
    const bool news = seen_ != variables.writes();
    if (run_writes) variables.note_writes();
    seen_ = variables.writes();
    return news;
  }

 private:
  uint64_t seen_ = ~uint64_t(0);
};

}  // namespace neon
