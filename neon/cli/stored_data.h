// Facts in a checkpoint about the data that its net was trained with.
#pragma once
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "neon/train/run_state.h"

namespace neon {

struct StoredData {
  Shape sample;  // images (C,H,W)
  float scale = 1, shift = 0;
  int64_t classes = 0, image_size = 0;
  bool pixel_classes = false;  // each pixel has one of the classes
  bool channels_last = false;
  bool rows_channels_last = false;        // (H,W,C) was the order of images in arrays
  std::vector<double> means, deviations;  // by channel
  std::vector<double> subtracted;         // from a sample as it lies in memory; see Data
  TableColumns table;
  std::string on_bad_sample = "error";                 // ImageParams::on_bad_sample
  std::string x_train = "x_train", x_test = "x_test";  // names of the inputs in an .npz
  Shape in_memory() const { return channels_last ? sample.slice(1, 3).concat({sample[0]}) : sample; }
};
// `spec`: the run's, as --set has it. Throws a data error where the checkpoint at `path` does not say it.
StoredData stored_data(const StoredRun& run, const Setting& spec, const std::string& path);

// Samples of the net's size without what was subtracted from those that it was trained with.
Tensor without_mean(const Tensor& samples, const StoredData& stored);

}  // namespace neon
