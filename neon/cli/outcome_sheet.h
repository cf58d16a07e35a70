// Sheets of samples with what the net makes of them beside each: the classes of its pixels in colours, its
// reconstruction, or another image. Samples of other nets stand there alone.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "neon/cli/predictor.h"

namespace neon {

class OutcomeSheets {
 public:
  // `path`: of the checkpoint. The net runs on the device that `options` name. All but the options are borrowed.
  OutcomeSheets(const CommandLine& line, const OpenedRun& opened, const std::string& path, const RunOptions& options,
                const Data& data);
  // Draws these samples of the split in rows of eight. Returns height and width of a sample's picture.
  Shape write(const Split& split, const std::vector<int64_t>& samples, const std::string& file);
  // The words for the pictures beside a sample: "its target and the net's output"; "" for a sample alone.
  std::string beside() const;

 private:
  Tensor outputs_for(const Tensor& x);
  CommandLine line_;
  const OpenedRun& opened_;
  const std::string path_;
  const Data& data_;
  const StoredData stored_;
  const bool reconstructs_;  // samples are their own targets
  bool fits_ = true;         // the net has as many outputs as the pictures need; one of several outputs has more
  std::optional<Predictor> predictor_;  // made for the first sheet that needs it
};

// Draws samples as they lie in memory and the net's outputs for them, as Predictor::run() gives them. Returns the words
// for the pictures beside the samples.
std::string write_predicted_sheet(const Tensor& samples, const Tensor& y, const StoredData& stored,
                                  const std::string& file);
// Whether such a sheet needs the outputs.
bool shows_outputs(const StoredData& stored);

}  // namespace neon
