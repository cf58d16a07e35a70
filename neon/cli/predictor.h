// The outputs of a checkpoint's net for samples, a batch at a time.
#pragma once
#include <compare>
#include <map>
#include <memory>

#include "neon/cli/session.h"
#include "neon/cli/stored_data.h"

namespace neon {

class Predictor {
 public:
  // Samples of a run.
  static constexpr int64_t kMost = 256;
  // `path`: of the checkpoint, for messages.
  Predictor(const CommandLine& line, const OpenedRun& opened, const StoredData& stored, std::string path);
  // Samples (n, ...) u8 or f32 as the net's data lie in memory, n <= kMost -> (N, K), whose first n rows are theirs.
  // Sequences may have other steps than those to train with; a data error that begins with `place` where the net does
  // not take as many.
  Tensor run(const Tensor& samples, const std::string& place);
  // The labels (N,T) that the net predicts for the same samples, -1 without one, where steps have classes; otherwise
  // empty.
  const Tensor& predicted() const { return predicted_; }
  // How many of the first numbers of row `at` are the sample's own; the others are of padding.
  int64_t own(const Tensor& y, int64_t at) const { return own_.empty() ? y.shape()[1] : int64_t(own_.at(at)); }

 private:
  struct Compiled {
    int64_t batch = 0;
    std::unique_ptr<Program> program;
  };
  // The form of the samples of a program.
  struct Kind {
    DType dtype = DType::f32;
    int64_t steps = 0;  // with `buckets`, the most of a sequence; 0: any
    int64_t held = 0;   // steps of all, where those to train with have others; otherwise 0
    auto operator<=>(const Kind&) const = default;
  };
  DataLayout layout(Kind kind, int64_t samples) const;
  StepGraph graph_of(Kind kind, int64_t samples) const;
  // The program for a batch of at least so many samples.
  Compiled& compiled(Kind kind, int64_t samples);
  std::unique_ptr<Program> compile(Kind kind, int64_t batch);
  // The lengths of buckets that the net takes.
  void find_buckets(DType dtype);
  // The samples of each bucket, for as long as there are any.
  std::map<int64_t, std::vector<int64_t>> by_length(const Tensor& samples) const;
  bool have_other_steps(const Tensor& samples) const;
  // Throws unless the net's weights are those of sequences of so many steps.
  void check_steps(Kind kind, const std::string& place);
  Tensor run_alike(const Tensor& samples, Kind kind);
  Tensor run_by_length(const Tensor& samples);

  const OpenedRun& opened_;
  const StoredData& stored_;
  const std::string path_;
  const TensorFile weights_;
  StepOptions step_;
  DeviceOptions device_;
  Variables variables_;
  std::map<Kind, std::vector<Compiled>> programs_;  // batches grow
  std::optional<std::vector<int64_t>> buckets_;     // ascending, each less than the longest sequence; empty: none
  std::map<std::string, TensorType> whole_;         // outputs of a sample of the longest sequences, with buckets
  Tensor indices_;                                  // 0, 1, ... of a whole batch
  Tensor predicted_, own_;
  Tensor filled_;  // a batch of fewer samples
};

}  // namespace neon
