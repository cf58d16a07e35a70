// Samples for a net of a checkpoint, from whatever holds them.
#pragma once
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "neon/train/run_state.h"

namespace neon {

// What a checkpoint says of the data that its net was trained with.
struct StoredData {
  Shape sample;  // images (C,H,W)
  float scale = 1, shift = 0;
  int64_t classes = 0, image_size = 0;
  bool channels_last = false;
  bool rows_channels_last = false;        // (H,W,C) was the order of images in arrays
  std::vector<double> means, deviations;  // by channel
  std::vector<double> subtracted;         // from a sample as it lies in memory; see Data
  TableColumns table;
  Shape in_memory() const { return channels_last ? sample.slice(1, 3).concat({sample[0]}) : sample; }
};
// Throws a data error where the checkpoint at `path` does not say it.
StoredData stored_data(const StoredRun& run, const std::string& path);

struct Samples {
  Tensor inputs;                   // (n, ...), u8 or f32
  std::vector<std::string> names;  // of images: what each is called
};
// Reads a CSV, NPY or IDX file, an image, or a folder of images. `-` is stdin; stdin and other pipes hold any of these
// but a folder. Notes are printed.
Samples read_samples(const std::string& path, const StoredData& stored);
// Samples of the net's size without what was subtracted from those that it was trained with.
Tensor without_mean(const Tensor& samples, const StoredData& stored);

// The rows of a CSV file's content, which `name` stands for in messages; between cells stand tabs in a .tsv file, else
// what stood there in the table trained with, unless the first line shows commas or tabs instead. Where both this table
// and the one trained with have a header, columns are taken by name, otherwise by position. What is left out is added
// to `notes`.
Tensor read_sample_table(const std::string& content, const std::string& name, const StoredData& stored,
                         std::vector<std::string>& notes);

}  // namespace neon
