// neon predict CHECKPOINT FILE...: outputs of stored weights for samples, a line each: the top classes with their
// outputs, the class of each pixel, what is predicted of a sequence, the objects of an image, or all outputs where
// there are no classes. Lines follow the files, and the samples in them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "neon/cli/kept_parameters.h"
#include "neon/cli/outcome_sheet.h"
#include "neon/cli/output_place.h"
#include "neon/cli/predictor.h"
#include "neon/cli/sample_sequences.h"
#include "neon/cli/sample_sheet.h"
#include "neon/cli/samples.h"
#include "neon/cli/target_columns.h"
#include "neon/cli/untrained_phase.h"
#include "neon/cli/verb.h"
#include "neon/train/atomic_file.h"
#include "neon/train/csv_text.h"
#include "neon/train/run_folder.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

class Printer {
 public:
  Printer(const CommandLine& line, const StoredData& stored)
      : json_(line.of_verb.format == "json"),
        top_(std::min(line.of_verb.top_k.value_or(1), std::max<int64_t>(stored.classes, 1))),
        names_(stored.class_names),
        columns_(stored.target_names),
        sequence_(stored.sequence),
        classes_(stored.classes),
        of_pixels_(stored.label_of == LabelOf::pixel),
        of_sequences_(stored.label_of == LabelOf::step || stored.label_of == LabelOf::sequence),
        of_boxes_(stored.label_of == LabelOf::box) {
    int64_t place = 0;
    for (const NamedTarget& target : stored.outputs) {
      targets_.emplace_back(target, place, line.of_verb.top_k.value_or(1));
      place += target.width;
    }
    const std::string path = line.run().output_file;
    if (path.empty()) return;
    check_free(path, line.of_verb.overwrite);
    make_folder_of(path);
    file_ = std::make_unique<AtomicFile>(path);
  }

  // The lines are whole in the file, or not there.
  void close() {
    if (file_) file_->commit();
  }

  void head(int64_t outputs) {
    columns_printed_ = outputs;
    if (json_) return;
    std::string line = "sample";
    for (const TargetColumns& target : targets_) line += target.head();
    if (!targets_.empty()) return put(line);
    if (of_boxes_) line += ",class,score,x1,y1,x2,y2";
    else if (of_sequences_) line += ",classes";
    else if (of_pixels_)
      for (int64_t k = 0; k < outputs / classes_; ++k) line += text(",pixel", k);
    else if (classes_)
      for (int64_t k = 1; k <= top_; ++k) line += top_ == 1 ? ",class,output" : text(",class", k, ",output", k);
    else
      for (int64_t k = 0; k < outputs; ++k) line += "," + csv_cell(name_of_number(k, outputs));
    put(line);
  }

  // Numbers of steps stand side by side in lines of as many columns.
  void check_columns(int64_t outputs, const std::string& place) const {
    if (json_ || classes_ > 0 || outputs == columns_printed_) return;
    fail(ErrorKind::config, place, ": the net gives ", outputs, " numbers for each of its sequences, and ",
         columns_printed_, " for those before; predict for each file by itself, or with --format json");
  }

  // Whether an output is not finite.
  bool row(const std::string& sample, const Predictor& predictor, const Tensor& y, int64_t at) const {
    bool bad = false;
    const int64_t own = predictor.own(y, at);
    for (int64_t k = 0; k < own; ++k) bad = bad || !std::isfinite(y.at(at * y.shape()[1] + k));
    if (of_boxes_ && !predictor.predicted().empty()) print_boxes(sample, predictor.predicted(), at);
    else if (of_sequences_ && !predictor.predicted().empty()) print_labels(sample, predictor.predicted(), at);
    else if (of_pixels_) print_pixels(sample, y, at);
    else if (!targets_.empty()) print_targets(sample, y, at);
    else print_sample(sample, y, at, own);
    return bad;
  }

 private:
  // The name of the column that output k of so many predicts; where each step has outputs, the step's number, too.
  std::string name_of_number(int64_t k, int64_t outputs) const {
    const auto names = int64_t(columns_.size());
    if (outputs == names) return columns_[size_t(k)];
    if (!sequence_ || names == 0 || outputs % names) return text("output", k);
    return text(columns_[size_t(k % names)], " step ", k / names);
  }
  void put(const std::string& record) const {
    if (!file_) return print_record(record);
    file_->write(record.data(), record.size());
    file_->write("\n", 1);
  }
  void print_targets(const std::string& sample, const Tensor& y, int64_t at) const {
    if (!json_) {
      std::string line = csv_cell(sample);
      for (const TargetColumns& target : targets_) line += target.cells(y, at);
      return put(line);
    }
    nlohmann::ordered_json line;
    line["sample"] = sample;
    for (const TargetColumns& target : targets_) target.add_to(line, y, at);
    print(line);
  }
  // The first `own` outputs; the cells of the others are empty.
  void print_sample(const std::string& sample, const Tensor& y, int64_t at, int64_t own) const {
    const int64_t outputs = y.shape()[1];
    std::vector<int64_t> order(static_cast<size_t>(own));
    for (size_t i = 0; i < order.size(); ++i) order[i] = int64_t(i);
    auto value = [&](int64_t k) { return y.at(at * outputs + k); };
    if (classes_) {
      std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return value(a) > value(b); });
      order.resize(size_t(top_));
    }
    const auto shown = [&](double v) { return output_text(y, v); };
    if (json_) return print_json(sample, order, value);
    std::string line = csv_cell(sample);
    for (int64_t k : order)
      line += classes_ ? text(",", csv_cell(name(k)), ",", shown(value(k))) : text(",", shown(value(k)));
    put(line + std::string(size_t(outputs - own), ','));
  }
  std::string name(int64_t k) const { return name_at(names_, k); }
  // The class of each pixel, row by row, of outputs (K,H,W).
  void print_pixels(const std::string& sample, const Tensor& y, int64_t at) const {
    const int64_t outputs = y.shape()[1], pixels = outputs / classes_;
    nlohmann::ordered_json classes;
    std::string line = csv_cell(sample);
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
      const auto value = [&](int64_t k) { return y.at(at * outputs + k * pixels + pixel); };
      int64_t best = 0;
      for (int64_t k = 1; k < classes_; ++k)
        if (value(k) > value(best)) best = k;
      if (json_) classes.push_back(name(best));
      else line += "," + csv_cell(name(best));
    }
    if (!json_) put(line);
    else print({{"sample", sample}, {"classes", std::move(classes)}});
  }
  // The classes that are predicted, with spaces between them, of (N,T).
  void print_labels(const std::string& sample, const Tensor& predicted, int64_t at) const {
    const int64_t steps = predicted.shape()[1];
    nlohmann::ordered_json classes = nlohmann::ordered_json::array();
    std::string line;
    for (int64_t t = 0; t < steps; ++t) {
      const auto k = int64_t(predicted.at(at * steps + t));
      if (k < 0) continue;
      line += (line.empty() ? "" : " ") + name(k);
      classes.push_back(name(k));
    }
    if (!json_) put(csv_cell(sample) + "," + csv_cell(line));
    else print({{"sample", sample}, {"classes", std::move(classes)}});
  }
  // A line for each object of detections (N,D,6), or one without an object.
  void print_boxes(const std::string& sample, const Tensor& detections, int64_t at) const {
    const int64_t most = detections.shape()[1];
    nlohmann::ordered_json boxes = nlohmann::ordered_json::array();
    bool any = false;
    for (int64_t d = 0; d < most; ++d) {
      const auto number = [&](int64_t k) { return detections.at((at * most + d) * kDetectionNumbers + k); };
      if (number(0) < 0) break;
      any = true;
      std::string line = csv_cell(sample) + "," + csv_cell(name(int64_t(number(0))));
      for (int64_t k = 1; k < kDetectionNumbers; ++k) line += "," + output_text(detections, number(k));
      if (!json_) put(line);
      boxes.push_back({{"class", name(int64_t(number(0)))},
                       {"score", number(1)},
                       {"box", {number(2), number(3), number(4), number(5)}}});
    }
    if (json_) print({{"sample", sample}, {"boxes", std::move(boxes)}});
    else if (!any) put(csv_cell(sample) + ",,,,,,");
  }
  void print(const nlohmann::ordered_json& line) const {
    put(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  void print_json(const std::string& sample, const std::vector<int64_t>& order, auto&& value) const {
    nlohmann::ordered_json line;
    line["sample"] = sample;
    if (!classes_) {
      for (int64_t k : order) line["outputs"].push_back(value(k));
    } else {
      for (int64_t k : order) line["top"].push_back({{"class", name(k)}, {"output", value(k)}});
    }
    print(line);
  }
  bool json_;
  int64_t columns_printed_ = 0, top_;
  std::vector<std::string> names_, columns_;  // of the classes; of the columns that numbers are predictions of
  bool sequence_;
  int64_t classes_;
  bool of_pixels_, of_sequences_, of_boxes_;
  std::vector<TargetColumns> targets_;  // of a net with several
  std::unique_ptr<AtomicFile> file_;    // null: lines go to stdout
};

// The first samples, for --sheet.
class FirstSamples {
 public:
  FirstSamples(const CommandLine& line, const StoredData& stored)
      : path_(line.of_verb.sheet), stored_(stored), left_(line.of_verb.count.value_or(kSheetImages)) {
    if (!path_.empty()) check_sheet(path_, stored, line.of_verb.overwrite);
  }
  // `y`: the net's outputs for them.
  void add(const Tensor& samples, const Tensor& y) {
    const int64_t taken = path_.empty() ? 0 : std::min(left_, samples.shape()[0]);
    for (int64_t i = 0; i < taken; ++i) {
      rows_.push_back(samples.rows(i, 1).clone());
      if (shows_outputs(stored_)) outputs_.push_back(y.rows(i, 1).clone());
    }
    left_ -= taken;
  }
  void write() const {
    if (rows_.empty()) return;
    // Images are bytes, and the cells of a table f32.
    const bool bytes = std::ranges::all_of(rows_, [](const Tensor& row) { return row.dtype() == DType::u8; });
    const DType dtype = bytes ? DType::u8 : DType::f32;
    Tensor all(dtype, Shape{int64_t(rows_.size())}.concat(stored_.stored_sample()));
    for (size_t i = 0; i < rows_.size(); ++i) {
      const Tensor row = rows_[i].dtype() == dtype ? rows_[i] : rows_[i].converted(dtype);
      std::memcpy(all.rows(int64_t(i), 1).data(), row.data(), row.bytes());
    }
    const std::string beside = write_predicted_sheet(all, all_outputs(), stored_, path_);
    print_message(text("wrote ", path_, ": the first ", rows_.size(), " samples, row by row",
                       beside.empty() ? "" : text(", and beside each ", beside)));
  }

 private:
  Tensor all_outputs() const {
    if (outputs_.empty()) return {};
    const Shape one = outputs_[0].shape();
    Tensor out(outputs_[0].dtype(), Shape{int64_t(outputs_.size())}.concat(one.slice(1, one.rank())));
    for (size_t i = 0; i < outputs_.size(); ++i)
      std::memcpy(out.rows(int64_t(i), 1).data(), outputs_[i].data(), outputs_[i].bytes());
    return out;
  }

  const std::string path_;
  const StoredData& stored_;
  int64_t left_;
  std::vector<Tensor> rows_, outputs_;
};

int run_predict(const CommandLine& line) {
  if (line.operands.size() < 2)
    fail(ErrorKind::config, "usage: ", usage_of(*find_verb(line.verb)), " (FILE - is stdin)");
  const std::string path = checkpoint_at(line.operands[0], kNetFiles);
  const OpenedRun opened = open_checkpoint(line, path);
  check_caffe(line, opened, path);
  check_heeded(line.verb, opened);
  const StoredData stored = stored_data(opened.run, opened.spec);
  if (!stored.vocabulary.empty()) check_spares_texts(line);
  const auto sources = open_samples({line.operands.begin() + 1, line.operands.end()}, stored);
  check_sheet_options(line);
  warn_of_untrained_phase(*opened.experiment, opened.run.position, path);
  const bool of_classes = stored.classes > 0 || std::ranges::any_of(stored.outputs, [](const NamedTarget& target) {
                            return target.kind == TargetKind::classes;
                          });
  if (line.of_verb.top_k.value_or(1) > 1 && !of_classes)
    fail(ErrorKind::config, "option --top_k: the net of ", path, " gives numbers, not classes; leave it out");
  if (line.of_verb.top_k.value_or(1) > 1 && stored.label_of != LabelOf::sample)
    fail(ErrorKind::config, "option --top_k: of each ", name_of(stored.label_of),
         " its class is printed; leave it out");
  Predictor predictor(line, opened, stored, path);
  Printer printer(line, stored);
  FirstSamples first(line, stored);
  bool begun = false;
  int64_t not_finite = 0, count = 0;
  std::vector<std::string> names;
  for (const auto& source : sources)
    for (Tensor samples = source->next(Predictor::kMost, names); !samples.empty();
         samples = source->next(Predictor::kMost, names)) {
      const Tensor y = in_own_units(predictor.run(samples, source->place()), stored);
      if (!begun) printer.head(y.shape()[1]);
      begun = true;
      printer.check_columns(y.shape()[1], source->place());
      for (size_t i = 0; i < names.size(); ++i) not_finite += printer.row(names[i], predictor, y, int64_t(i));
      first.add(samples.rows(0, int64_t(names.size())), y);
      count += int64_t(names.size());
    }
  printer.close();
  first.write();
  if (!begun) fail(ErrorKind::data, line.operands[1], ": holds no samples");
  if (not_finite > 0)
    fail(ErrorKind::diverged, path, ": outputs for ", not_finite, " of ", count, " samples are not finite");
  return 0;
}

}  // namespace

NEON_VERB(
    run_predict, "predict", 80, takes_device | computes, "CHECKPOINT FILE...",
    "print the classes or outputs for samples: tables and arrays (CSV, NPY, NPZ, IDX, HDF5), images, folders or .tar "
    "of images, lines of texts; - is stdin");

}  // namespace neon
