// Every reader gives whole arrays in host memory, or a reader of single samples, with their meaning.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "datasets/data_context.h"
#include "datasets/sample_meaning.h"
#include "datasets/sample_reader.h"
#include "datasets/stratify.h"
#include "neon/core/box_rows.h"
#include "neon/core/registry.h"
#include "neon/core/tensor.h"

namespace neon {

// The files of samples, by their numbers in the source.
class SampleFiles {
 public:
  virtual ~SampleFiles() = default;
  virtual std::string path(int64_t number) const = 0;
};

struct Split {
  Tensor inputs;  // (n) + Data::stored_sample(); u8 or f32, a row per sample
  // (n) i32 class labels, (n,H,W) those of pixels, or (n, ...) f32; empty, without a reader: the target is the input.
  Tensor targets;
  // In place of both for streamed samples: u8, with i32 class labels.
  std::shared_ptr<const SampleReader> reader;
  // In place of both for other streamed samples: tokens (T), i32, with as many targets, or images with boxes.
  std::shared_ptr<const RowReader> rows;
  // The names, labels and sizes of the files of the samples, as a text; "" without files. The text is the same whether
  // samples are streamed or held in memory.
  std::string identity;
  // Reads the files of these samples for checksums, if they can be read one by one, even if the samples are held.
  std::shared_ptr<const SampleReader> files;
  // A number for each sample, the same for files of the same bytes, which stay together where samples are drawn; empty:
  // each sample stands alone.
  std::vector<int64_t> groups;
  // For people: the number of each sample in its source, from 0, which is a row of a table or a file; empty: samples
  // are numbered as they lie.
  std::vector<int64_t> numbers;
  std::shared_ptr<const SampleFiles> paths;  // by these numbers; null: samples are no files
  int64_t number(int64_t i) const { return numbers.empty() ? i : numbers[size_t(i)]; }
  // The arrays take too much of a GPU's memory: they stay in the host's, and the run copies batches.
  bool stays_on_host = false;
  int64_t size() const {
    return reader ? reader->size() : rows ? rows->size() : inputs.empty() ? 0 : inputs.shape()[0];
  }
  DType dtype() const { return reader ? DType::u8 : rows ? rows->dtype() : inputs.dtype(); }
  // Whether each sample has one class. Otherwise, where there are classes, each pixel has one.
  bool labels_samples() const { return reader || (targets.dtype() == DType::i32 && targets.shape().rank() == 1); }
  // Where there are classes: whether targets are boxes of objects.
  bool has_boxes() const { return !reader && !rows && targets.dtype() == DType::f32; }
  // Label i of label_count(): of a sample, a pixel, a step or a box. A step without a label has -1, and a row that is
  // no box. None of streamed tokens, and of streamed boxes alone what their tables say.
  int64_t label_count() const {
    if (has_boxes()) return targets.elements() / kBoxNumbers;
    return reader ? reader->size() : rows ? rows->label_count() : targets.elements();
  }
  int32_t label(int64_t i) const {
    if (has_boxes()) return int32_t(targets.at(i * kBoxNumbers));
    return reader ? reader->label(i) : rows ? rows->label(i) : targets.as<int32_t>()[size_t(i)];
  }
};

struct Data : SampleMeaning {
  Split train, test, validation;               // empty: the set does not have it
  std::string source;                          // for messages: a folder, "150 samples built in"
  std::string test_source, validation_source;  // of these samples; "": they come from there, too
  int64_t padding_classes = 0;                 // the last ones, which no sample of any split has
  bool took_validation = false;                // the reader took the samples that `validation` asks for
  bool took_fold = false;                      // the reader took the samples of the fold as test samples
  const std::string& source_of(std::string_view set) const {
    const std::string& own = set == "test" ? test_source : set == "validation" ? validation_source : source;
    return own.empty() ? source : own;
  }
};

// A data set as its headers describe it, without its samples.
struct DataCheck : SampleMeaning {
  bool found = false;
  std::string source;   // its place; if missing, the stand-in that load() would use, or ""
  std::string missing;  // the path that does not exist
  std::string command;  // a shell command that downloads it, or ""
  Shape target;         // of one sample's; labels: (1); rank 0: the target is the input itself
  int64_t train_size = 0, test_size = 0, validation_size = 0;  // as load() would give them
  std::vector<int64_t> class_counts = {};                      // class_sizes() of the training; empty: unknown
  bool streamed = false;                                       // samples are read while the run goes on
  bool stays_on_host = false;                                  // Split::stays_on_host
  bool took_fold = false;                                      // Data::took_fold

  // Bytes of a sample; a label, or a number of a target, takes 4.
  size_t input_bytes() const { return size_t(sample.elements()) * size_of(dtype); }
  size_t target_bytes() const { return target.rank() > 0 ? 4 * size_t(target.elements()) : 0; }
};

struct ImageSet;  // image_samples.h

class Dataset {
 public:
  static constexpr const char* kCategory = "dataset";
  struct Common {
    double validation = 0;
    int64_t folds = 0, fold = 0;
    double subset_pct = 100;
    bool autoencoder = false, reconstruct = false;
    double memory_share = 0.5;
    static void describe(auto&& p) {
      p("validation", &Common::validation,
        "Training samples kept apart: their number, or below 1 their share, as 0.1. A run evaluates them, and the test "
        "samples at its end only. They are drawn by the seed, from each class in proportion; the rest keeps its order.",
        at_least(0));
      p("folds", &Common::folds,
        "Number of folds of a cross validation, for sets without test samples. Each fold has about as many samples of "
        "a "
        "class as another; a run tests with one and trains with the rest. They are the same with every seed. 0: none.",
        at_least(0));
      p("fold", &Common::fold, "The fold to test with, from 1 to `folds`.", at_least(0));
      p("subset_pct", &Common::subset_pct,
        "Part of the training samples that is used, drawn by the seed, from each class in proportion.",
        open_closed(0, 100), Unit{"percent"}, Alias{"sample_pct"});
      p("autoencoder", &Common::autoencoder,
        "Uses the sample itself, as the net gets it, as the target, and ignores labels.");
      p("reconstruct", &Common::reconstruct,
        "Gives each sample a second target, named `sample`: the numbers of the sample itself, of images channel by "
        "channel. Its own target is then `class`, or `value` if that is numbers. `outputs` of the spec names both.");
      p("memory_share", &Common::memory_share,
        "Share of the free memory, and of a GPU's, that samples may take. Above it neon streams them from their files "
        "if the data set can. Otherwise neon keeps them in the host's memory and copies batches to the GPU. Batches "
        "are "
        "the same.",
        open_closed(0, 1));
    }
  };

  virtual ~Dataset() = default;
  // Throws a data error for a bad file, with its path, and a config error for parameters that do not fit the files.
  virtual Data load(const DataContext&) const = 0;
  // Reads headers, and text files whole. Throws for a bad file, not for a missing one.
  virtual DataCheck check(const DataContext&) const = 0;
  // The undecoded files of a set of images; null for other sets.
  virtual std::shared_ptr<ImageSet> images(const DataContext&) const { return nullptr; }
  virtual const void* params_address() const = 0;
  Common common;

 protected:
  // The end of every load() and check(). Checks that rows and targets agree, drops the targets of an autoencoder, draws
  // the subset and the validation samples, and warns of classes without training samples. `reconstruct` adds samples
  // to targets, unless the reader, which changes them after this, does it then.
  Data finish(Data data, const DataContext& context, bool reconstructs = true) const;
  void reconstruct(Data& data) const;
  DataCheck finish(DataCheck check) const;
  // Gives the samples of the fold, if the parameters name one, to the test.
  void take_fold(Data& data, const DataContext& context) const;
  // The least number of classes: an autoencoder ignores labels.
  size_t least_classes() const { return common.autoencoder ? 1 : 2; }
};

// (n) or (n, 1) labels of any integer type, or of a float type with whole numbers, as (n) i32. A value
// outside [0, classes) is a data error that names `source`, index, value and bound.
Tensor class_labels(const Tensor& raw, int64_t classes, const std::string& source);

// The same for labels of pixels, in their shape (n, ...).
Tensor pixel_labels(const Tensor& raw, int64_t classes, const std::string& source);

// The number of classes by the labels alone: 1 + the largest, at least 2.
int64_t count_classes(const Tensor& raw, const std::string& source);

// Keeps u8 and converts all other types to f32. NaN and infinity are data errors that name `source` and row.
Tensor input_array(const Tensor& raw, const std::string& source);

// Copies the rows of those indices.
Tensor take_rows(const Tensor& from, const std::vector<int64_t>& rows);

// "'ant', 'bee' and 3 more": classes by their names, or numbers without names.
std::string class_list(const std::vector<int64_t>& classes, const std::vector<std::string>& names);

// The value of a key `test` that names a file or a share; "auto" is a fifth, and none with folds.
std::string test_part(const std::string& test, const Dataset::Common& common);

// An order in which `taken` of the samples come last, drawn from the stream (seed, name). They come from each class in
// proportion (stratify.h) if the samples have labels and the context's rules allow it.
std::vector<int64_t> order_to_take(const Split& samples, const SampleMeaning& meaning, int64_t taken,
                                   const DataContext& context, std::string_view name);

// The labels and groups of a split, one class without labels of samples. Labels of several targets are those of the
// first target of classes. The order is left to the caller.
GroupedSamples grouped_samples(const Split& split, const SampleMeaning& meaning, int rules);

// The samples of those rows: copies, or a reader that chooses them.
Split rows_of(const Split& from, const std::vector<int64_t>& rows);

// Splits the rows of `all` into the first `train_count` of `order` and the rest, each in the order of the file.
void split_rows(const Split& all, const std::vector<int64_t>& order, int64_t train_count, Split& first, Split& rest);

}  // namespace neon
