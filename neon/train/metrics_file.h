// The metrics file of a run: HDF5, groups and names as neon 1.x's, so that its tools and plain h5py read it,
// also while the run goes on and after it was killed.
//
// The whole file is laid out before the first step: every series at its final length, filled with NaN (0 in
// a series of integers), written beside its place and renamed. After that nothing in it moves or grows:
// values are written over the fill in place, at offsets that HDF5 told when the file was made. So a kill
// at any instant leaves a sound file; HDF5 itself never runs while training does, and a failing disk cannot
// upset it. Growing HDF5 data sets do not survive a kill.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "neon/core/dtype.h"
#include "neon/train/atomic_file.h"

namespace neon {

// One curve: `length` points of `width` numbers. Its HDF5 attributes are units, x, epoch_freq or
// minibatch_freq, as in neon 1.x time_markers, and of a data set with two axes point_axis, the one that
// counts points.
struct SeriesSpec {
  std::string path;            // "cost/train"
  int64_t length = 0;          // points
  int64_t width = 1;           // numbers in a point; the data set is (length) or, above 1, (length, width)
  bool columns = false;        // the data set is (width, length): neon's histograms
  DType dtype = DType::f32;    // f32, f64 or i32
  std::string units;           // "seconds"; "" for a number without one
  std::string x;               // what a point's index counts: "minibatch", "epoch", or "" for once in a run
  std::string time_markers;    // neon's: "minibatch", "epoch_freq" or "" for no attribute; decides x if that is ""
  int64_t epoch_freq = 1;      // point i is of epoch (i + 1) * epoch_freq
  int64_t minibatch_freq = 1;  // the same for minibatches

  std::string axis() const;  // x, or what time_markers says
  int64_t values() const { return length * width; }
};

using AttributeValue = std::variant<std::string, int64_t, double>;

// An attribute of a group (made when absent), of a series, or, for "", of the file. Numbers can be changed later.
struct AttributeSpec {
  std::string owner, name;
  AttributeValue value;
};

struct StoredSeries {
  SeriesSpec spec;
  std::vector<double> values;                        // as the data set has them, row by row
  double at(int64_t index, int64_t part = 0) const;  // one number of a point
};

// Pictures of a file of neon 1.x: bytes of four axes.
struct StoredPictures {
  std::string path;
  std::array<uint64_t, 4> dims{};
  std::string bytes;
};

struct MetricsContents {
  std::vector<StoredSeries> series;
  std::vector<AttributeSpec> attributes;                  // those of series are in their spec
  std::vector<StoredPictures> pictures;                   // of files of neon 1.x alone
  const StoredSeries* find(std::string_view path) const;  // null when absent
  const AttributeValue* find(std::string_view owner, std::string_view name) const;
};

// Reads a file that MetricsFile made. HDF5 can crash on a damaged file, so it reads in a child process; a crash or a
// hang there is an error here. The child begins at once, so that several files can be read at the same time.
enum class MetricsMakers { neon, neon_and_1x };  // whose files are read
class MetricsReading {
 public:
  // Throws a data error for a file that cannot be one.
  explicit MetricsReading(const std::string& path, MetricsMakers of = MetricsMakers::neon);
  MetricsReading(const MetricsReading&) = delete;
  ~MetricsReading();  // ends the child
  // Once. Throws a data error with what is wrong.
  MetricsContents take();

 private:
  int wait_for_child();  // its status
  std::string path_;
  FileHandle from_;
  int child_ = -1;  // the process
};
MetricsContents read_metrics(const std::string& path);

// A new file of this name may replace a metrics file only: throws a data error if any other is there.
void check_metrics_replaceable(const std::string& path);

enum class RunStatus { running, complete, killed };

// One thread at a time.
class MetricsFile {
 public:
  // The part of an earlier file that a resumed run keeps: points of minibatches and epochs before these.
  struct History {
    std::string path;
    int64_t minibatches = 0, epochs = 0;
  };

  // Makes the file, in place of one that is there. The attributes status ("running") and those given are
  // set. With `keep`, values are taken over from that file (which may be `path` itself); later points stay
  // blank, and a series that is longer now just has room. Where that file has points after other epochs, the new
  // one has places for both. When that file cannot be read it is renamed, not
  // lost, and messages() say so. Throws a failed error when the file cannot be made or another process is
  // writing it, a config error for two series of one path or one that is too large, and a data error when `path`
  // is there and is not a metrics file.
  MetricsFile(std::string path, std::vector<SeriesSpec> series, std::vector<AttributeSpec> attributes,
              const History* keep = nullptr);
  MetricsFile(MetricsFile&&) noexcept;
  // A file not closed was cut short: its status becomes "killed".
  ~MetricsFile();

  // From here on nothing throws: a log that cannot be written must not stop a training. Each failure is
  // reported once by take_messages(), values are kept, and every later flush tries again.

  // One number of a point, or all of them.
  void set(std::string_view path, int64_t index, double value);
  void set(std::string_view path, int64_t index, std::span<const double> values);
  void set_attribute(std::string_view owner, std::string_view name, double value);
  // The value that was set, else NaN.
  double get(std::string_view path, int64_t index, int64_t part = 0) const;

  // Hands everything set so far to the operating system: it survives the process. Call it before a
  // checkpoint is saved, so that the file never lags behind the checkpoint.
  void flush();
  bool flush_due() const;        // whether a second has passed since the last one
  void close(RunStatus status);  // sets the status, flushes, and waits for the disk

  // After close(): whether the file under its name holds the values.
  bool is_kept() const;

  // New messages for the user since the last call.
  std::vector<std::string> take_messages();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace neon
