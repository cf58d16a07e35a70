// neon predict CHECKPOINT FILE: outputs of stored weights for the samples of a CSV, NPY or IDX file, for an image
// (JPEG, PNG) or a folder of them, or for any of these but a folder on stdin (-). A line a sample: the top classes with
// their outputs, or all outputs where there are no classes.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "neon/cli/samples.h"
#include "neon/cli/session.h"
#include "neon/cli/verb.h"
#include "neon/train/gpu_room.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

class Printer {
 public:
  Printer(const CommandLine& line, std::vector<std::string> names, int64_t classes)
      : json_(line.of_verb.format == "json"),
        top_(std::min(line.of_verb.top_k, std::max<int64_t>(classes, 1))),
        names_(std::move(names)),
        classes_(classes) {}

  void head(int64_t outputs) const {
    if (json_) return;
    std::string line = "sample";
    if (classes_)
      for (int64_t k = 1; k <= top_; ++k) line += top_ == 1 ? ",class,output" : text(",class", k, ",output", k);
    else
      for (int64_t k = 0; k < outputs; ++k) line += text(",output", k);
    print_record(line);
  }

  // Whether an output is not finite.
  bool row(const std::string& sample, const Tensor& y, int64_t at) const {
    const int64_t outputs = y.shape()[1];
    std::vector<int64_t> order(static_cast<size_t>(outputs));
    for (size_t i = 0; i < order.size(); ++i) order[i] = int64_t(i);
    auto value = [&](int64_t k) { return y.at(at * outputs + k); };
    const bool bad = !std::ranges::all_of(order, [&](int64_t k) { return std::isfinite(value(k)); });
    if (classes_) {
      std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return value(a) > value(b); });
      order.resize(size_t(top_));
    }
    // Of f64 all digits, and of others those that f32 has.
    const auto shown = [&](double v) { return y.dtype() == DType::f64 ? number(v) : number(float(v)); };
    if (json_) {
      print_json(sample, order, value);
      return bad;
    }
    std::string line = quoted(sample);
    for (int64_t k : order)
      line += classes_ ? text(",", quoted(name(k)), ",", shown(value(k))) : text(",", shown(value(k)));
    print_record(line);
    return bad;
  }

 private:
  std::string name(int64_t k) const { return size_t(k) < names_.size() ? names_[size_t(k)] : std::to_string(k); }
  static std::string quoted(const std::string& s) {
    if (s.find_first_of(",\"\r\n") == s.npos) return s;
    std::string out = "\"";
    for (char c : s) out += c == '"' ? "\"\"" : std::string(1, c);
    return out + "\"";
  }
  void print_json(const std::string& sample, const std::vector<int64_t>& order, auto&& value) const {
    nlohmann::ordered_json line;
    line["sample"] = sample;
    if (!classes_) {
      for (int64_t k : order) line["outputs"].push_back(value(k));
    } else {
      for (int64_t k : order) line["top"].push_back({{"class", name(k)}, {"output", value(k)}});
    }
    print_record(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  bool json_;
  int64_t top_;
  std::vector<std::string> names_;
  int64_t classes_;
};

int run_predict(const CommandLine& line) {
  if (line.operands.size() != 2)
    fail(ErrorKind::config, "usage: ", usage_of(*find_verb(line.verb)), " (FILE - is stdin)");
  const std::string &path = line.operands[0], &samples_path = line.operands[1];
  const OpenedRun opened = open_checkpoint(line, path);
  check_caffe(line, opened, path);
  const TensorFile weights = sound_weights(opened, path);
  const StoredData stored = stored_data(opened.run, path);
  const Samples read = read_samples(samples_path, stored);
  const std::string shown = samples_path == "-" ? "stdin" : samples_path;
  const int64_t count = read.inputs.shape().rank() ? read.inputs.shape()[0] : 0;
  const int64_t features = count ? read.inputs.elements() / count : 0;
  if (count == 0) fail(ErrorKind::data, shown, ": holds no samples");
  if (features != stored.sample.elements())
    fail(ErrorKind::data, shown, ": samples have ", features, " numbers; the net takes ", stored.sample.elements(), " ",
         stored.sample);
  const Tensor samples = without_mean(read.inputs, stored);
  DataLayout layout;
  layout.data_dtype = samples.dtype();
  layout.sample = stored.sample;
  layout.channels_last = stored.channels_last;
  layout.train_size = count;
  layout.scale = stored.scale;
  layout.shift = stored.shift;
  layout.means = stored.means;
  layout.deviations = stored.deviations;
  RunOptions options = options_of(line, opened);
  options.rounding = 0;  // of updates alone
  StepOptions step = step_options(options, opened.experiment->params);
  step.batch = std::min<int64_t>(count, 256);
  const StepGraph graph = evaluation_graph(opened.experiment->network(), nullptr, {}, layout, count, step);
  Variables variables;
  // A few samples are done before a GPU has woken up, so it is used only where it is asked for.
  RunOptions asked = line.run();
  if (asked.backend.empty()) asked.backend = "cpu";
  choose_backend(line, asked, *opened.experiment);
  DeviceOptions device = device_options(asked, *opened.experiment);
  device.timed = false;  // as for any evaluation
  std::unique_ptr<Program> program;
  const auto bytes = [&](int64_t fewer) {
    StepOptions smaller = step;
    smaller.batch = std::min(fewer, step.batch);
    GpuNeeds needs(device);
    needs.add_program(evaluation_graph(opened.experiment->network(), nullptr, {}, layout, fewer, smaller).graph, 0,
                      true, false);
    needs.hold(size_t(fewer) * (samples.bytes() / size_t(count)) + size_t(smaller.batch) * sizeof(int32_t));
    return needs.bytes();
  };
  const auto let_go = [&] { program.reset(), variables = {}; };
  telling_room(device,
               [&] {
                 program = compile_program(graph.graph, variables, device);
                 program->bind("data", samples.data());
               },
               let_go, {.what = "Predictions", .samples = count, .option = "", .bytes = bytes});
  declare_variables(graph.graph, variables);
  restore_variables(weights, path, variables, true);
  Tensor indices(DType::i32, {step.batch});
  variables.to_device();
  if (line.of_verb.top_k > 1 && stored.classes == 0)
    fail(ErrorKind::config, "option --top_k: the net of ", path, " gives numbers, not classes; leave it out");
  const Printer printer(line, opened.run.class_names, stored.classes);
  printer.head(graph.outputs[0].width);
  int64_t not_finite = 0;
  for (int64_t first = 0; first < count; first += step.batch) {
    for (int64_t i = 0; i < step.batch; ++i) indices.set(i, double(std::min(first + i, count - 1)));
    program->bind("indices", indices.data());
    program->run(0);
    const Tensor y = program->output("y");
    for (int64_t i = 0; i < step.batch && first + i < count; ++i)
      not_finite += printer.row(read.names.empty() ? std::to_string(first + i) : read.names[size_t(first + i)], y, i);
  }
  if (not_finite > 0)
    fail(ErrorKind::diverged, path, ": outputs for ", not_finite, " of ", count, " samples are not finite");
  return 0;
}

}  // namespace

NEON_VERB(
    run_predict, "predict", 80, takes_device | computes, "CHECKPOINT FILE",
    "print the classes or outputs for the samples of a CSV, NPY, IDX or image file, a folder or .tar of images, or - "
    "for stdin");

}  // namespace neon
