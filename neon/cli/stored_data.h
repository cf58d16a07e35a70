// The data that the net of a checkpoint was trained with, as far as predict needs them.
#pragma once
#include <optional>
#include <string>

#include "datasets/dataset.h"
#include "datasets/labelled_texts.h"
#include "neon/train/run_state.h"

namespace neon {

struct StoredData : SampleMeaning {
  std::string checkpoint;                              // its path
  std::string decimal = "auto";                        // CsvParams::decimal
  std::string on_bad_sample = "error";                 // ImageParams::on_bad_sample
  std::vector<NamedTarget> outputs;                    // targets, in the order of the net's outputs
  std::string x_train = "x_train", x_test = "x_test";  // names of the inputs in an .npz
  bool texts_are_files = false;                        // those to train with were files in folders of classes
  LabelledTextParams texts;                            // columns of a table of texts
  bool texts_are_rows = false;                         // those to train with were rows of a table
  bool txt_is_table = false;                           // those to train with were rows of a table named .txt
  // The most steps that the spec takes of a text or sequence, 0: all; or without a value: those to train with.
  std::optional<int64_t> most_steps;
  std::string series_array = "input";  // WindowsParams::array
  bool has_target_arrays = false;  // which may be images; otherwise targets of images without classes are the images
  int64_t rows_ahead = 1;          // from the last row of a window to the one that it is named after
};
// `spec`: the run's, as --set has it.
StoredData stored_data(const StoredRun& run, const Setting& spec);

// Samples of the net's size without what was subtracted from those that it was trained with, and brought to their mean
// and deviation.
Tensor without_mean(const Tensor& samples, const StoredData& stored);

}  // namespace neon
