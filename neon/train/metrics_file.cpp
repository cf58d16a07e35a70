#include "neon/train/metrics_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>

#include "neon/core/error.h"
#include "neon/train/atomic_file.h"
#include "neon/train/metrics_hdf5.h"
#include "neon/train/metrics_series.h"

namespace neon {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kFlushEvery = std::chrono::seconds(1);

}  // namespace

// A series and what of it is not in the file yet.
struct Placed {
  SeriesSpec spec;
  size_t offset = kNowhere;
  int64_t first = 0, last = 0;  // points [first, last) are to be written
  int64_t stride = 1;           // points of the file in one of the run

  // The file's point for a point of the run.
  int64_t own(int64_t index) const { return (index + 1) * stride - 1; }

  size_t place(int64_t index, int64_t part) const {
    return offset + size_t(spec.columns ? part * spec.length + index : index * spec.width + part) * size_of(spec.dtype);
  }
  void mark(int64_t index) {
    first = first == last ? index : std::min(first, index);
    last = std::max(last, index + 1);
  }
};

struct PlacedNumber {
  size_t offset;
  bool real, dirty = false;
};

namespace {

template <typename F>
decltype(auto) with_type(DType dtype, F&& f) {
  if (dtype == DType::f64) return f.template operator()<double>();
  if (dtype == DType::i32) return f.template operator()<int32_t>();
  return f.template operator()<float>();
}

}  // namespace

// Any other HDF5 file may be somebody's data.
void check_metrics_replaceable(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return;
  try {
    read_metrics(path);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    fail(ErrorKind::data, path, " is there and is not overwritten: give another name, remove it, or give --overwrite (",
         error.what(), ")");
  }
}

struct MetricsFile::State {
  std::string path;
  FileHandle file;
  std::vector<std::byte> image;  // the file as it shall be
  size_t status_offset = 0;
  bool status_dirty = false, closed = false;
  std::vector<Placed> series;
  std::map<std::string, size_t, std::less<>> by_path;
  std::map<std::string, PlacedNumber, std::less<>> numbers;  // by "owner@name"
  std::vector<std::string> messages;
  std::map<std::string, bool> told;  // misuse is reported once for each kind
  bool failing = false, lost = false;
  Clock::time_point flushed = Clock::now();

  void take_over(const MetricsContents& from, const History& until);
  std::optional<MetricsContents> read(const History& history);
  void write_file(AtomicFile& out);
  int write_dirty();
  int write_series(Placed& placed);
  bool still_ours();
  bool is_whole() const;
  bool is_as_written() const;
  void write_again();
  Placed* find(std::string_view path, int64_t index, size_t count);
  void tell_once(const std::string& message) {
    if (told.emplace(message, true).second) messages.push_back(message);
  }
  void put(const Placed& placed, int64_t index, int64_t part, double value) {
    with_type(placed.spec.dtype, [&]<typename T>() {
      const T stored = store_as<T>(value);
      std::memcpy(&image[placed.place(index, part)], &stored, sizeof stored);
    });
  }
};

// Copies into the image, which is not written yet.
void MetricsFile::State::take_over(const MetricsContents& from, const History& until) {
  for (const StoredSeries& old : from.series)
    if (!by_path.count(old.spec.path))
      messages.push_back(text(until.path, ": the history of ", old.spec.path, " is not kept: this run has none"));
  for (const Placed& placed : series) {
    const SeriesSpec& spec = placed.spec;
    const StoredSeries* old = from.find(spec.path);
    if (!old) continue;
    if (old->spec.width != spec.width || old->spec.minibatch_freq != spec.minibatch_freq ||
        old->spec.axis() != spec.axis() || old->spec.epoch_freq < 1 || old->spec.epoch_freq % spec.epoch_freq != 0) {
      messages.push_back(text(until.path, ": the history of ", spec.path,
                              " is not kept: its points are not those of this run (width or frequency changed)"));
      continue;
    }
    const int64_t stride = spec.axis() == "epoch" ? old->spec.epoch_freq / spec.epoch_freq : 1;
    int64_t count = std::min(spec.length / stride, old->spec.length);
    if (spec.axis() == "minibatch") count = std::min(count, until.minibatches / spec.minibatch_freq);
    if (spec.axis() == "epoch") count = std::min(count, until.epochs / old->spec.epoch_freq);
    for (int64_t index = 0; index < count; ++index)
      for (int64_t part = 0; part < spec.width; ++part)
        put(placed, (index + 1) * stride - 1, part, old->at(index, part));
  }
}

// Nothing where the file is gone, or cannot be read; messages say so.
std::optional<MetricsContents> MetricsFile::State::read(const History& history) {
  try {
    return read_metrics(history.path);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    struct stat status;
    if (stat(history.path.c_str(), &status) != 0 && errno == ENOENT) {
      messages.push_back(text(path, " begins after epoch ", history.epochs,
                              ": what came before is in the metrics file that the run had then, if it had one"));
      return std::nullopt;
    }
    messages.push_back(text("the history of this run is not kept: ", error.what()));
    if (follow_links(history.path) == path && stat(path.c_str(), &status) == 0)
      messages.push_back(text(path, " is renamed to ", set_aside(path)));
    return std::nullopt;
  }
}

void MetricsFile::State::write_file(AtomicFile& out) {
  out.write(image.data(), image.size());
  out.commit();
  file = out.release();
}

MetricsFile::MetricsFile(std::string path, std::vector<SeriesSpec> series, std::vector<AttributeSpec> attributes,
                         const History* history)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.path = follow_links(path);
  check_series(series);
  make_folder_of(s.path);
  AtomicFile out(s.path);
  const std::optional<MetricsContents> old = history ? s.read(*history) : std::nullopt;
  std::vector<int64_t> strides;
  for (SeriesSpec& spec : series) strides.push_back(add_places(spec, old ? old->find(spec.path) : nullptr));
  MetricsImage image = part<MetricsPart>().make(series, attributes);
  s.image = std::move(image.bytes);
  s.status_offset = image.status;
  for (size_t i = 0; i < series.size(); ++i) {
    s.by_path.emplace(series[i].path, i);
    s.series.push_back({.spec = std::move(series[i]), .offset = image.series[i], .stride = strides[i]});
  }
  for (size_t i = 0; i < attributes.size(); ++i)
    if (image.attributes[i] != kNowhere)
      s.numbers.emplace(attributes[i].owner + '@' + attributes[i].name,
                        PlacedNumber{image.attributes[i], std::holds_alternative<double>(attributes[i].value)});
  if (old) s.take_over(*old, *history);
  if (!history || follow_links(history->path) != s.path) check_metrics_replaceable(s.path);
  s.write_file(out);
}

MetricsFile::MetricsFile(MetricsFile&&) noexcept = default;

MetricsFile::~MetricsFile() {
  if (state_) close(RunStatus::killed);
}

// Null, and a message, when that is no point of a series: a mistake of the program that must not end a run.
Placed* MetricsFile::State::find(std::string_view name, int64_t index, size_t count) {
  const auto found = by_path.find(name);
  if (found == by_path.end()) {
    std::vector<std::string> names;
    for (const auto& [known, ignored] : by_path) names.push_back(known);
    tell_once(text(path, ": no series ", name, " was declared", did_you_mean(name, names), "; its values are lost"));
    return nullptr;
  }
  Placed& placed = series[found->second];
  if (count != size_t(placed.spec.width)) {
    tell_once(
        text(path, ": ", count, " numbers for a point of ", name, ", which has ", placed.spec.width, "; not kept"));
    return nullptr;
  }
  const int64_t points = placed.spec.length / placed.stride;
  if (index < 0 || index >= points) {
    tell_once(text(path, ": ", name, " has no room beyond its ", points, " points; later ones are lost"));
    return nullptr;
  }
  return &placed;
}

void MetricsFile::set(std::string_view path, int64_t index, double value) { set(path, index, {&value, 1}); }

void MetricsFile::set(std::string_view path, int64_t index, std::span<const double> values) {
  Placed* placed = state_->find(path, index, values.size());
  if (!placed) return;
  const int64_t own = placed->own(index);
  for (size_t part = 0; part < values.size(); ++part) state_->put(*placed, own, int64_t(part), values[part]);
  placed->mark(own);
}

void MetricsFile::set_attribute(std::string_view owner, std::string_view name, double value) {
  const auto found = state_->numbers.find(text(owner, '@', name));
  if (found == state_->numbers.end())
    return state_->tell_once(
        text(state_->path, ": no number ", name, " of '", owner, "' was declared; it is not kept"));
  PlacedNumber& number = found->second;
  const int64_t whole = store_as<int64_t>(value);
  std::memcpy(&state_->image[number.offset], number.real ? static_cast<const void*>(&value) : &whole, sizeof value);
  number.dirty = true;
}

double MetricsFile::get(std::string_view path, int64_t index, int64_t part) const {
  const auto found = state_->by_path.find(path);
  if (found == state_->by_path.end()) return std::numeric_limits<double>::quiet_NaN();
  const Placed& placed = state_->series[found->second];
  if (index < 0 || index >= placed.spec.length / placed.stride || part < 0 || part >= placed.spec.width)
    return std::numeric_limits<double>::quiet_NaN();
  return with_type(placed.spec.dtype, [&]<typename T>() {
    T stored;
    std::memcpy(&stored, &state_->image[placed.place(placed.own(index), part)], sizeof stored);
    return double(stored);
  });
}

// 0, or the first errno. Values that could not be written stay marked.
int MetricsFile::State::write_series(Placed& placed) {
  if (placed.first == placed.last) return 0;
  const int64_t rows = placed.spec.columns ? placed.spec.width : 1;
  const size_t bytes =
      size_t((placed.last - placed.first) * (placed.spec.columns ? 1 : placed.spec.width)) * size_of(placed.spec.dtype);
  for (int64_t row = 0; row < rows; ++row) {
    const size_t at = placed.place(placed.first, placed.spec.columns ? row : 0);
    if (const int error = write_at(file, at, &image[at], bytes)) return error;
  }
  placed.first = placed.last = 0;
  return 0;
}

int MetricsFile::State::write_dirty() {
  int result = 0;
  for (Placed& placed : series)
    if (const int error = write_series(placed); error && !result) result = error;
  for (auto& [name, number] : numbers) {
    if (!number.dirty) continue;
    const int error = write_at(file, number.offset, &image[number.offset], sizeof(int64_t));
    if (!error) number.dirty = false;
    else if (!result) result = error;
  }
  if (status_dirty) {  // last: "complete" is true of everything before it
    const int error = result ? result : write_at(file, status_offset, &image[status_offset], kStatusBytes);
    if (!error) status_dirty = false;
    else result = error;
  }
  return result;
}

// The file's name may have been taken away under us: then it is made again, all of it, from the image. When
// somebody else's file stands there it is left alone, and false is returned.
bool MetricsFile::State::still_ours() {
  struct stat opened, named;
  if (fstat(file.get(), &opened) != 0 || opened.st_nlink > 0) return true;
  if (stat(path.c_str(), &named) == 0) {
    lost = true;
    messages.push_back(text(path, " was replaced by another program; the metrics of this run are no longer kept"));
    return false;
  }
  AtomicFile out(path);
  write_file(out);
  messages.push_back(text(path, " was removed; it is written again"));
  return true;
}

// Whether the file still has all its bytes: another program may have cut it.
bool MetricsFile::State::is_whole() const {
  struct stat status;
  return fstat(file.get(), &status) != 0 || size_t(status.st_size) >= image.size();
}

// Whether the closed file is the image. Bytes that another program wrote behind it do not count.
bool MetricsFile::State::is_as_written() const {
  std::vector<std::byte> piece(std::min<size_t>(image.size(), size_t(1) << 20));
  for (size_t at = 0; at < image.size(); at += piece.size()) {
    const size_t bytes = std::min(piece.size(), image.size() - at);
    read_exactly(file, at, piece.data(), bytes, path);
    if (std::memcmp(piece.data(), &image[at], bytes) != 0) return false;
  }
  return true;
}

void MetricsFile::State::write_again() {
  if (const int error = write_at(file, 0, image.data(), image.size())) fail(ErrorKind::failed, system_message(error));
  tell_once(text(path, " was changed by another program; it is written again"));
}

void MetricsFile::flush() {
  State& s = *state_;
  s.flushed = Clock::now();
  if (s.closed || s.lost) return;
  std::string reason;
  try {
    if (!s.still_ours()) return;
    if (!s.is_whole()) s.write_again();
    if (const int error = s.write_dirty()) reason = system_message(error);
  } catch (const std::exception& error) {
    reason = reason_of(error, "it fails");
  }
  if (!reason.empty() && !s.failing)
    s.messages.push_back(text("cannot write the metrics file ", s.path, ": ", reason,
                              "; training goes on, the values are kept and tried again"));
  if (reason.empty() && s.failing) s.messages.push_back(text("the metrics file ", s.path, " is written again"));
  s.failing = !reason.empty();
}

bool MetricsFile::flush_due() const { return Clock::now() - state_->flushed >= kFlushEvery; }

void MetricsFile::close(RunStatus status) {
  State& s = *state_;
  if (s.closed) return;
  const std::string_view name = status == RunStatus::running    ? "running"
                                : status == RunStatus::complete ? "complete"
                                                                : "killed";
  std::memset(&s.image[s.status_offset], 0, kStatusBytes);
  std::memcpy(&s.image[s.status_offset], name.data(), name.size());
  s.status_dirty = true;
  flush();
  try {
    if (!s.lost && !s.failing && !s.is_as_written()) s.write_again();
  } catch (const Error& error) {
    s.lost = true;
    s.messages.push_back(text(s.path, " cannot be read: ", error.what(), "; the curves of this run are lost"));
  }
  if (!s.lost && fsync(s.file.get()) != 0 && !s.failing)
    s.messages.push_back(text("cannot flush the metrics file ", s.path, " to the disk: ", system_message(errno)));
  s.closed = true;
  s.file.close();
}

bool MetricsFile::is_kept() const { return !state_->lost && !state_->failing; }

std::vector<std::string> MetricsFile::take_messages() { return std::exchange(state_->messages, {}); }

}  // namespace neon
