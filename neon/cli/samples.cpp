#include "neon/cli/samples.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "datasets/archive_names.h"
#include "datasets/array_sequences.h"
#include "datasets/channels.h"
#include "datasets/file.h"
#include "datasets/given_images.h"
#include "datasets/gzip.h"
#include "datasets/idx.h"
#include "datasets/image.h"
#include "datasets/npy.h"
#include "datasets/shard_folder.h"
#include "datasets/tar.h"
#include "neon/cli/expected_files.h"
#include "neon/cli/sample_images.h"
#include "neon/cli/sample_sequences.h"
#include "neon/cli/session.h"
#include "neon/core/counted.h"
#include "neon/core/nearest_file.h"
#include "neon/core/paths.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

enum class Format { csv, npy, npz, idx, hdf5, none };

// By the ending, in capitals or not; that of gzip may follow it.
Format format_of(const std::string& path) {
  std::string small = lower(path);
  const bool packed = small.ends_with(".gz");
  if (packed) small.erase(small.size() - 3);
  const auto ends = [&](std::initializer_list<const char*> endings) {
    return std::ranges::any_of(endings, [&](const char* ending) { return small.ends_with(ending); });
  };
  if (ends({".csv", ".tsv", ".txt"})) return Format::csv;
  if (ends({".npy"})) return Format::npy;
  if (ends({"-ubyte", ".idx"})) return Format::idx;
  if (!packed && ends({".npz"})) return Format::npz;
  if (!packed && ends({".h5", ".hdf5", ".hdf", ".he5"})) return Format::hdf5;
  return Format::none;
}

bool is_text_name(const std::string& path) {
  const std::string small = lower(path);
  return small.ends_with(".txt") || small.ends_with(".txt.gz");
}

Tensor read_array(const std::string& path, Format format, const StoredData& stored) {
  if (format == Format::csv) return read_table(read_maybe_gzip(path), path, stored);
  if (format == Format::npz) return read_npz_inputs(path, path, stored);
  if (format == Format::hdf5) return read_hdf5_inputs(path, path, stored);
  const bool packed = lower(path).ends_with(".gz");
  const Tensor raw = format == Format::idx ? read_idx(path)
                     : packed              ? read_npy(MemorySource(read_maybe_gzip(path), path))
                                           : read_npy(path);
  return without_mean(arranged(inputs_like(stored, raw, path), stored, path), stored);
}

// How a net of tokens is used, which predicts the token behind each; "" for others.
std::string advice_of_tokens(const StoredData& stored) {
  if (!stored.foretells_tokens()) return "";
  return text("; the net predicts the token behind each one: give whole numbers (n,", stored.sample[0], ") in .npy, ",
              stored.vocabulary.empty()
                  ? "and merges to the data set for neon sample, which goes on with texts"
                  : text("or go on with a text: neon sample ", shell_word(stored.checkpoint), " --prompt 'WORDS'"));
}

Tensor read_advising(const std::string& path, Format format, const StoredData& stored) try {
  return read_array(path, format, stored);
} catch (const Error& error) {
  fail(error.kind(), error.what(), advice_of_tokens(stored));
}

Shape without_ones(const Shape& shape) {
  std::vector<int64_t> sizes;
  std::ranges::copy_if(shape, std::back_inserter(sizes), [](int64_t size) { return size != 1; });
  return Shape(sizes);
}

// Whether these are sequences that differ from the net's samples in their steps alone.
bool has_other_steps(const Shape& sample, const StoredData& stored) {
  const Shape& wanted = stored.sample;
  if (!stored.sequence || sample.rank() != wanted.rank() || sample[0] == wanted[0]) return false;
  return sample[0] > 0 && sample.with(0, 1) == wanted.with(0, 1);
}

// Refuses samples of another shape, but for sequences of other steps. Rows have all numbers in the order of the net's
// samples. Axes of one element may be missing or more, unless they are the steps or features of a sequence.
void check_shape(const Shape& sample, const StoredData& stored, const std::string& name) {
  const Shape& wanted = stored.sample;
  const Shape numbers = without_ones(sample);
  const bool is_row = stored.sequence ? sample.rank() < 2 : numbers.rank() < 2;
  if (has_other_steps(sample, stored)) return;
  const bool may_differ = !stored.sequence || sample.rank() != wanted.rank();
  if (sample.elements() != wanted.elements())
    fail(ErrorKind::data, name, ": samples of ", counted(sample.elements(), "number"), ", the net takes ",
         wanted.elements(), " ", wanted, advice_of_tokens(stored));
  if (is_row || sample == wanted || sample == stored.stored_sample()) return;
  if (may_differ && numbers == without_ones(wanted)) return;
  fail(ErrorKind::data, name, ": its samples are ", sample, ", the net takes ", wanted,
       stored.sequence && wanted.rank() == 2 ? ", steps before features" : "");
}

// Samples of a file that is read when they are asked for.
class ArraySamples : public SampleSource {
 public:
  ArraySamples(std::function<Tensor()> read, std::string name, std::string prefix, const StoredData& stored)
      : read_(std::move(read)), name_(std::move(name)), prefix_(std::move(prefix)), stored_(stored) {}

  Tensor next(int64_t most, std::vector<std::string>& names) override {
    if (read_) load();
    names.clear();
    const int64_t first = at_, count = std::min(most, all_.shape()[0] - first);
    at_ += count;
    for (int64_t i = first; i < at_; ++i) names.push_back(prefix_ + std::to_string(i));
    return count ? all_.rows(first, count) : Tensor();
  }
  std::string place() const override { return name_; }

 private:
  void load() {
    all_ = read_();
    read_ = nullptr;
    if (stored_.tokens > 0) all_ = token_rows(all_, stored_.tokens, stored_.ragged, name_);
    const int64_t count = all_.shape().rank() ? all_.shape()[0] : 0;
    if (count == 0) fail(ErrorKind::data, name_, ": holds no samples");
    if (is_shorter(all_.shape()))
      all_ = with_more_steps(all_, stored_.sample[0], stored_.tokens > 0 ? -1 : std::nan(""));
    check_shape(all_.shape().slice(1, all_.shape().rank()), stored_, name_);
  }

  // Whether these are sequences of fewer steps than the net's samples, which may be padded.
  bool is_shorter(const Shape& shape) const {
    const Shape sample = shape.slice(1, shape.rank());
    return stored_.ragged && has_other_steps(sample, stored_) && sample[0] < stored_.sample[0];
  }

  std::function<Tensor()> read_;  // null once it has
  const std::string name_, prefix_;
  const StoredData& stored_;
  Tensor all_;
  int64_t at_ = 0;
};

// Whether samples of this shape are images (H,W,C). Rows, and images with as many channels as rows and columns, are
// taken for what the arrays were that the net was trained with.
bool are_channels_last(const Shape& sample, const StoredData& stored, const std::string& name) {
  const Shape first = stored.sample, last = stored.stored_sample(), own = without_ones(sample);
  if (own.rank() < 2 || first == last) return stored.rows_channels_last;
  if (sample == first || sample == last) return sample == last;
  const bool as_first = own == without_ones(first), as_last = own == without_ones(last);
  if (as_first && as_last && without_ones({first[0], first[1] * first[2]}).rank() > 1)
    fail(ErrorKind::data, name, ": its samples are ", sample, ", which may be channels first or last; give them as ",
         first, " or ", last);
  if (!as_first && !as_last)
    fail(ErrorKind::data, name, ": its samples are ", sample, ", the net takes ", first, ", or with channels last ",
         last);
  return as_last;
}

class Opener {
 public:
  Opener(const std::vector<std::string>& paths, const StoredData& stored) : paths_(paths), stored_(stored) {}

  std::vector<std::unique_ptr<SampleSource>> run() {
    if (std::ranges::count(paths_, "-") > 1) fail(ErrorKind::config, "- stands for stdin, which is read once only");
    for (const std::string& path : paths_) {
      if (is_image_name(path) && !folder_exists(path)) {
        file_size(path);  // refuses what is no file
        images_.push_back(path);
        continue;
      }
      add_images();
      add(path);
    }
    add_images();
    return std::move(out_);
  }

 private:
  // Files of images that follow one another fill batches together.
  void add_images() {
    if (images_.empty()) return;
    auto store = listed_images(std::move(images_));
    images_.clear();
    store->want(store->names());
    out_.push_back(samples_of_images(std::move(store), "", stored_));
  }

  // The text before the number of a sample, or its name in an archive, where several files are read.
  std::string prefix(const std::string& path) const { return paths_.size() > 1 ? path + ":" : ""; }

  void add(const std::string& path) {
    std::error_code ignored;
    const bool there = path == "-" || std::filesystem::exists(path, ignored);
    if (path == "-") return out_.push_back(open_pipe(STDIN_FILENO, "stdin", prefix("stdin"), stored_));
    if (is_read_once(path) || path.starts_with("/dev/")) {  // /dev/stdin may be a file without its name
      const Descriptor pipe(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      if (pipe.number < 0) fail(ErrorKind::data, path, ": ", std::strerror(errno));
      return out_.push_back(open_pipe(pipe.number, path, prefix(path), stored_));
    }
    if (folder_exists(path) || is_tar_name(path) || (!there && is_pattern(path))) return add_store(path);
    if (!there && !stored_.vocabulary.empty() && path.find(' ') != path.npos)
      fail(ErrorKind::data, path, ": there is no such file; if it is a text, give it by stdin: echo ", shell_word(path),
           " | neon predict ", shell_word(stored_.checkpoint), " -");
    if (!there) fail(ErrorKind::data, path, ": there is no such file", nearest_file(path));
    check_is_no_spec(path, kSamplesExpected);
    const Format format = format_of(path);
    if (!stored_.vocabulary.empty() && format == Format::csv && (!is_text_name(path) || has_table_of_texts(path)))
      return out_.push_back(texts_of_table(read_maybe_gzip(path), path, prefix(path), stored_));
    if (!stored_.vocabulary.empty() && format == Format::none)
      if (std::vector<NamedText> files = texts_of_archive(path); !files.empty())
        return out_.push_back(texts_of_archive(std::move(files), path, prefix(path), stored_));
    const bool may_be_sequences =
        format == Format::csv || format == Format::npy || (format == Format::none && !stored_.vocabulary.empty());
    if (stored_.sequence && may_be_sequences)
      if (auto found = sequences_in(read_maybe_gzip(path), path, prefix(path), stored_))
        return out_.push_back(std::move(found));
    if (stored_.sequence && format == Format::hdf5)
      if (auto found = windows_in_hdf5(path, prefix(path), stored_)) return out_.push_back(std::move(found));
    if (format == Format::none && stored_.foretells_tokens())
      fail(ErrorKind::config, path, ": holds no array of tokens", advice_of_tokens(stored_));
    if (format == Format::none)
      fail(ErrorKind::config, path,
           ": samples are read from .csv, .npy, .npz, IDX (-ubyte), HDF5 (.h5) and images, folders and .tar of images, "
           "or from stdin as -; images are .jpg, .png, .bmp, .gif, .tif and .webp");
    out_.push_back(std::make_unique<ArraySamples>(
        [path, format, &stored = stored_] { return read_advising(path, format, stored); }, path, prefix(path),
        stored_));
  }

  // Whether a .txt file has rows, as the one that the net was trained with. Says how others are read.
  bool has_table_of_texts(const std::string& path) const {
    if (!stored_.txt_is_table) return false;
    const std::string content = read_maybe_gzip(path);
    if (names_texts(content, path, stored_.texts)) return false;  // sequences_in says so
    const bool rows = has_rows_of_classes(content, path, stored_.texts, stored_.class_names);
    if (!rows && !stored_.texts.text.are_several())
      print_message(text("note: ", path, ": its first line does not name the column of texts, so each line is a text"));
    return rows;
  }

  void add_store(const std::string& path) {
    if (!stored_.vocabulary.empty()) {
      if (folder_exists(path)) return out_.push_back(texts_of_files(path, stored_));
      check_has_classes(path, stored_);
      if (!is_tar_name(path))
        fail(ErrorKind::config, path,
             ": the net takes texts, one in each line of a file, row of a table, or file of a ",
             "folder or archive; name one of these");
      return out_.push_back(texts_of_archive(texts_of_archive(path), path, prefix(path), stored_));
    }
    if (is_shard_folder(path))
      fail(ErrorKind::config, path, ": holds shards, and neon predict reads images; give the folder, archive or files ",
           "that neon data pack read, or evaluate the shards: neon eval CHECKPOINT ", shell_word(path));
    auto store = open_image_store(path);
    want_images(*store);
    out_.push_back(
        samples_of_images(std::move(store), folder_exists(path) ? join_path(path, "") : prefix(path), stored_));
  }

  const std::vector<std::string>& paths_;
  const StoredData& stored_;
  std::vector<std::string> images_;
  std::vector<std::unique_ptr<SampleSource>> out_;
};

}  // namespace

Tensor arranged(const Tensor& x, const StoredData& stored, const std::string& name) {
  const Shape& shape = x.shape();
  const Shape sample = shape.rank() > 0 ? shape.slice(1, shape.rank()) : shape;
  if (!stored.channels_last || shape.elements() == 0 || sample.elements() != stored.sample.elements()) return x;
  if (are_channels_last(sample, stored, name)) return x;
  return with_channels_last(x.reshaped(Shape{shape[0]}.concat(stored.sample)));
}

Tensor read_table(const std::string& content, const std::string& name, const StoredData& stored) {
  std::vector<std::string> notes;
  const Tensor out = read_sample_table(content, name, stored, notes);
  print_warnings(notes);
  if (!stored.table.codes.empty()) return out;
  return without_mean(arranged(out, stored, name), stored);
}

std::unique_ptr<SampleSource> samples_of_array(Tensor array, const std::string& name, const std::string& prefix,
                                               const StoredData& stored) {
  return std::make_unique<ArraySamples>([array = std::move(array)] { return array; }, name, prefix, stored);
}

std::vector<std::unique_ptr<SampleSource>> open_samples(const std::vector<std::string>& paths,
                                                        const StoredData& stored) {
  return Opener(paths, stored).run();
}

}  // namespace neon
