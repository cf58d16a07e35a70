#include "neon/cli/onnx_export.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "backends/graph/flops.h"
#include "neon/cli/output_place.h"
#include "neon/cli/sample_sequences.h"
#include "neon/cli/stored_data.h"
#include "neon/cli/untrained_phase.h"
#include "neon/core/counted.h"
#include "neon/core/random.h"
#include "neon/onnx/evaluate.h"
#include "neon/onnx/translate.h"
#include "neon/train/atomic_file.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

constexpr int64_t kMostSamples = 64;
constexpr double kMostOfLoops = 3e9;             // multiplications and additions of the plain loops
constexpr size_t kMostInFile = size_t(1) << 31;  // of a protobuf message

// The net that is written: its graphs in f32, and its weights.
class ExportedNet {
 public:
  ExportedNet(const CommandLine& line, const OpenedRun& opened, const std::string& path)
      : opened_(opened), stored_(stored_data(opened.run, opened.spec)) {
    RunOptions options = options_of(line, opened);
    options.rounding = 0;  // of updates alone
    step_ = step_options(options, opened.experiment->params);
    if (step_.dtype != DType::f32)
      print_message(text("note: the net was trained in ", name_of(step_.dtype), ", and the file's numbers are f32"));
    step_.dtype = DType::f32;
    const StepGraph one = step_graph(1);
    work_ = flops_of(one.graph, 0, one.graph.node_count());
    for (const Parameter& p : one.parameters) parameters_ += p.shape.elements();
    declare_variables(one.graph, variables_);
    restore_variables(sound_weights(opened, path), path, variables_, true);
    variables_.to_device();
  }

  const StoredData& stored() const { return stored_; }
  Variables& variables() { return variables_; }
  int64_t parameters() const { return parameters_; }
  double work() const { return work_; }
  Graph graph(int64_t samples) const { return step_graph(samples).graph; }
  DType sample_type() const { return stored_.tokens > 0 ? DType::i32 : DType::f32; }

  // The outputs (N,K) of a run of neon's own kernels.
  Tensor outputs(const Tensor& samples) {
    const int64_t count = samples.shape()[0];
    const auto program = compile_program(graph(count), variables_, {});
    Tensor indices(DType::i32, {count});
    for (int64_t i = 0; i < count; ++i) indices.set(i, double(i));
    program->bind("indices", indices.data());
    program->bind("data", samples.data());
    program->run(0);
    return program->output("y").clone();
  }

 private:
  StepGraph step_graph(int64_t samples) const {
    DataLayout layout;
    layout.meaning() = stored_.meaning();
    layout.dtype = sample_type();
    layout.train_size = samples;
    StepOptions step = step_;
    step.batch = samples;
    return evaluation_graph(opened_.experiment->network(), nullptr, {}, layout, samples, step);
  }

  const OpenedRun& opened_;
  StoredData stored_;
  StepOptions step_;
  Variables variables_;
  int64_t parameters_ = 0;
  double work_ = 0;
};

// Number i of a repeating list for each element of (1, ...).
Tensor repeated(const std::vector<double>& numbers, const Shape& shape) {
  Tensor out(DType::f32, Shape{1}.concat(shape));
  for (int64_t i = 0; i < out.elements(); ++i) out.set(i, numbers[size_t(i) % numbers.size()]);
  return out;
}

// Whether all columns of the table are numbers, so that arrays of them are samples, too.
bool has_numbers_alone(const std::vector<ColumnCode>& codes) {
  return std::ranges::all_of(codes,
                             [](const ColumnCode& code) { return code.kind == ColumnKind::number && !code.indicator; });
}

// The mean and the deviation of each number of a sample, where the net takes samples without them.
Standard standard_of(const StoredData& stored) {
  if (stored.table.codes.empty() || !has_numbers_alone(stored.table.codes)) return stored.standard;
  Standard out;
  for (const ColumnCode& code : stored.table.codes)
    out.means.push_back(code.mean), out.deviations.push_back(code.deviation);
  return out;
}

// Images are (N,C,H,W) in the file; samples and outputs are in their own units.
onnx::OuterForm form_of(const StoredData& stored, int64_t outputs) {
  onnx::OuterForm out;
  for (int axis = 0; axis <= stored.sample.rank(); ++axis) out.order.push_back(axis);
  if (stored.channels_last) std::rotate(out.order.begin() + 1, out.order.end() - 1, out.order.end());
  const Shape sample = stored.stored_sample();
  if (!stored.subtracted.empty()) out.subtracted = repeated(stored.subtracted, sample);
  if (const Standard standard = standard_of(stored); !standard.empty()) {
    if (out.subtracted) fail(ErrorKind::config, "samples whose means are subtracted twice have no ONNX file");
    out.subtracted = repeated(standard.means, sample);
    out.divisor = repeated(standard.deviations, sample);
  }
  Tensor zeros(DType::f32, {1, outputs}), ones(DType::f32, {1, outputs});
  for (int64_t i = 0; i < outputs; ++i) ones.set(i, 1);
  const Tensor term = in_own_units(zeros, stored), top = in_own_units(ones, stored);
  if (term.data() == zeros.data()) return out;
  Tensor factor(DType::f32, {1, outputs});
  for (int64_t i = 0; i < outputs; ++i) factor.set(i, top.at(i) - term.at(i));
  out.factor = factor, out.term = term;
  return out;
}

// Makes sequences (n,T,...) of all lengths: behind the last step of each stands padding.
void pad_sequences(Tensor& samples, bool tokens, Stream& stream) {
  const int64_t count = samples.shape()[0], steps = samples.shape()[1], numbers = samples.elements() / count / steps;
  for (int64_t n = 0; n < count; ++n)
    for (int64_t t = 1 + stream.below(uint32_t(steps)); t < steps; ++t)
      for (int64_t i = 0; i < numbers; ++i)
        samples.set((n * steps + t) * numbers + i, tokens ? -1 : std::numeric_limits<double>::quiet_NaN());
}

// Numbers of rows in place of those of embedded columns.
void draw_rows(const std::vector<ColumnCode>& codes, Tensor& samples, Stream& stream) {
  const int64_t width = width_of(codes);
  for (int64_t i = 0; has_embedded(codes) && i < samples.shape()[0]; ++i) {
    int64_t place = i * width;
    for (const ColumnCode& code : codes) {
      if (code.embedded > 0) samples.set(place, stream.below(uint32_t(code.table_rows())));
      place += code.width();
    }
  }
}

// Samples (n, ...) as they lie in memory, such as the net may be given.
Tensor drawn_samples(const StoredData& stored, DType dtype, int64_t count) {
  Tensor out(dtype, Shape{count}.concat(stored.stored_sample()));
  Stream stream(0, "onnx");
  const int64_t numbers = stored.sample.elements(), channels = std::max<int64_t>(int64_t(stored.means.size()), 1);
  const Standard standard = standard_of(stored);
  const int64_t pixels = stored.channels_last ? 1 : numbers / channels;
  for (int64_t i = 0; i < out.elements(); ++i) {
    if (stored.tokens > 0) out.set(i, stream.below(uint32_t(stored.tokens)));
    else if (stored.dtype == DType::u8) out.set(i, stream.below(256));
    else if (!standard.empty()) {
      const size_t k = size_t(i) % standard.means.size();
      out.set(i, standard.means[k] + stream.normal() * standard.deviations[k]);
    } else {
      double number = stream.normal();
      if (const auto k = size_t(i / pixels % channels); !stored.means.empty())
        number = stored.means[k] + number * stored.deviations[k];
      out.set(i, (number - stored.shift) / stored.scale);
    }
  }
  draw_rows(stored.table.codes, out, stream);
  if (stored.ragged) pad_sequences(out, stored.tokens > 0, stream);
  return out;
}

std::string with_commas(int64_t number) {
  std::string out = std::to_string(number);
  for (size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, ",");
  return out;
}

std::string shown(double difference, int digits = 1) {
  char out[32];
  std::snprintf(out, sizeof out, "%.*g", digits, difference);
  return out;
}

struct Proof {
  double difference = 0, allowed = 0;
  int64_t samples = 0;
};

onnx::Array array_of(const Tensor& tensor) {
  onnx::Array out{{tensor.shape().begin(), tensor.shape().end()}, {}};
  for (int64_t i = 0; i < tensor.elements(); ++i) out.numbers.push_back(tensor.at(i));
  return out;
}

// The outputs by f32 are as far from those in double as sums of f32 are, in any order.
Proof proof_of(const onnx::Model& model, ExportedNet& net, const onnx::OuterForm& form) {
  constexpr double kSlack = 8, kLeast = 1e-6;
  Proof out;
  out.samples = std::clamp(int64_t(kMostOfLoops / std::max(net.work(), 1.0)), int64_t(1), kMostSamples);
  const Tensor samples = drawn_samples(net.stored(), net.sample_type(), out.samples);
  const Tensor inputs = has_numbers_alone(net.stored().table.codes) ? without_mean(samples, net.stored()) : samples;
  const Tensor own = in_own_units(net.outputs(inputs), net.stored());
  const onnx::Array input = array_of(onnx::permuted(samples, form.order));
  const onnx::Array exact = onnx::evaluated(model, input, onnx::Precision::full),
                    rounded = onnx::evaluated(model, input, onnx::Precision::as_f32);
  if (exact.elements() != own.elements())
    fail(ErrorKind::failed, "the file gives ", exact.elements(), " numbers, and neon ", own.elements());
  double largest = 0, by_rounding = 0;
  for (int64_t i = 0; i < own.elements(); ++i) {
    const double number = exact.numbers[size_t(i)], apart = std::fabs(own.at(i) - number);
    if (!(apart <= out.difference) && !std::isnan(out.difference)) out.difference = apart;
    largest = std::max(largest, std::fabs(number));
    by_rounding = std::max(by_rounding, std::fabs(rounded.numbers[size_t(i)] - number));
  }
  out.allowed = kSlack * by_rounding + kLeast * largest;
  return out;
}

onnx::Model model_of(ExportedNet& net, const onnx::OuterForm& form, const std::string& path) {
  const onnx::NetGraph graph([&](int64_t samples) { return net.graph(samples); });
  onnx::Model out = onnx::translated(graph, graph.constants(net.variables()), form);
  out.graph_name = file_name_of(path);
  const StoredData& stored = net.stored();
  if (!stored.class_names.empty()) out.metadata["class_names"] = nlohmann::json(stored.class_names).dump();
  if (!stored.target_names.empty()) out.metadata["target_names"] = nlohmann::json(stored.target_names).dump();
  if (const std::vector<ColumnCode>& codes = stored.table.codes; !has_numbers_alone(codes)) {
    nlohmann::json columns, categories = nlohmann::json::array();
    for (const ColumnCode& code : codes) columns.push_back(code.description()), categories.push_back(code.categories);
    out.metadata["columns"] = columns.dump();
    out.metadata["categories"] = categories.dump();
    print_message("note: the file takes a table's columns as neon codes them; its metadata `columns` say how");
  }
  return out;
}

std::string read_again(const std::string& path) {
  const FileHandle file = open_to_read(path);
  std::string out(file_size(file, path), 0);
  read_exactly(file, 0, out.data(), out.size(), path);
  return out;
}

struct ProvenFile {
  Proof proof;
  int64_t nodes = 0;
};

// Reads the file that lies at `part`, and compares what it gives with neon's outputs; throws where these are others.
ProvenFile proven(const std::string& to, const std::string& part, ExportedNet& net, const onnx::OuterForm& form) {
  constexpr const char* kOwnFault = "; this is a fault in neon itself, please report it with the checkpoint";
  const std::string bytes = read_again(part);
  ProvenFile out;
  try {
    const onnx::Model model = onnx::from_bytes(bytes);
    out = {proof_of(model, net, form), int64_t(model.operations.size())};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data && error.kind() != ErrorKind::failed) throw;
    fail(ErrorKind::failed, to, " was not written: neon cannot compute what it says: ", error.what(), kOwnFault);
  }
  const auto& [difference, allowed, samples] = out.proof;
  if (!(difference <= allowed))
    fail(ErrorKind::failed, to, " was not written: its outputs differ from neon's by ", shown(difference, 3),
         ", and rounding to f32 explains ", shown(allowed, 3), " at most", kOwnFault);
  return out;
}

}  // namespace

int export_onnx(const CommandLine& line, const OpenedRun& opened, const std::string& path) {
  const std::string& to = line.of_verb.onnx;
  if (!line.run().output_file.empty())
    fail(ErrorKind::config, "option -o: --onnx names the file, ", to, "; leave -o out");
  check_free(to, line.of_verb.overwrite);
  warn_of_untrained_phase(*opened.experiment, opened.run.position, path);
  ExportedNet net(line, opened, path);
  const Graph one = net.graph(1);
  const onnx::OuterForm form = form_of(net.stored(), one.shape(one.outputs().at("y")).elements());
  const std::string bytes = onnx::to_bytes(model_of(net, form, path));
  if (bytes.size() >= kMostInFile) fail(ErrorKind::config, to, ": more than 2 GiB do not fit in an ONNX file");
  make_folder_of(to);
  AtomicFile file(to);
  file.write(bytes.data(), bytes.size());
  file.sync();
  const ProvenFile found = proven(to, file.part_path(), net, form);
  file.commit();
  print_result(text(to, ": opset ", onnx::kOpset, ", ", counted(found.nodes, "node"), ", ",
                    with_commas(net.parameters()), net.parameters() == 1 ? " parameter" : " parameters",
                    "; max |difference| ", shown(found.proof.difference), " on ",
                    counted(found.proof.samples, "sample")));
  return 0;
}

}  // namespace neon
