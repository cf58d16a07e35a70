// Samples for a net of a checkpoint, from whatever holds them, some at a time.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "neon/cli/stored_data.h"

namespace neon {

class SampleSource {
 public:
  virtual ~SampleSource() = default;
  // The next samples, at most `most`: (n, ...) u8 or f32 as the net's data lie in memory, with what the training set
  // was freed of subtracted; empty after the last. They are there until the next call. `names` becomes what each is
  // called.
  virtual Tensor next(int64_t most, std::vector<std::string>& names) = 0;
  // The file or archive, for messages about sequences.
  virtual std::string place() const { return "the samples"; }
};

// The samples of predict's operands, in their order: CSV, NPY, NPZ, IDX and HDF5 files, images, folders and tar
// archives of images, and "-", stdin, which may be any of these but a folder. All of them are looked for, images of
// folders and archives are listed; contents are read as samples are asked for. Notes are printed.
std::vector<std::unique_ptr<SampleSource>> open_samples(const std::vector<std::string>& paths,
                                                        const StoredData& stored);

// The samples of an open pipe, such as stdin, in any format: its first bytes show which.
std::unique_ptr<SampleSource> open_pipe(int descriptor, const std::string& name, const std::string& prefix,
                                        const StoredData& stored);

// Samples that are there, as the net's data lie in memory, numbered from 0 after `prefix`.
std::unique_ptr<SampleSource> samples_of_array(Tensor array, const std::string& name, const std::string& prefix,
                                               const StoredData& stored);

// Inputs of files, as samples that next() gives; `name` stands for `path` in messages. The array of an .npz is the one
// that the training took its test samples from, else its training samples, else the only one there.
Tensor read_npz_inputs(const std::string& path, const std::string& name, const StoredData& stored);
Tensor read_hdf5_inputs(const std::string& path, const std::string& name, const StoredData& stored);
Tensor read_table(const std::string& content, const std::string& name, const StoredData& stored);

// Raw inputs (n, ...) with the channels of images where the net's data have them.
Tensor arranged(const Tensor& x, const StoredData& stored, const std::string& name);

// The rows of a CSV file's content, which `name` stands for in messages; between cells stand tabs in a .tsv file, else
// what stood there in the table trained with, unless the first line shows commas or tabs instead. Where both this table
// and the one trained with have a header, columns are taken by name, otherwise by position. Columns left out are
// added to `notes`.
Tensor read_sample_table(const std::string& content, const std::string& name, const StoredData& stored,
                         std::vector<std::string>& notes);

}  // namespace neon
