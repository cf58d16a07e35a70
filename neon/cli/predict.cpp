// neon predict CHECKPOINT FILE: outputs of stored weights for the samples of a CSV, NPY or IDX file, for an image
// (JPEG, PNG) or a folder of them, or for CSV lines or one image on stdin (-). A line a sample: the top classes with
// their outputs, or all outputs where there are no classes.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "datasets/channels.h"
#include "datasets/csv.h"
#include "datasets/gzip.h"
#include "datasets/idx.h"
#include "datasets/image.h"
#include "datasets/jpeg_image.h"
#include "datasets/npy.h"
#include "datasets/png_image.h"
#include "neon/cli/session.h"
#include "neon/cli/verbs.h"
#include "neon/train/evaluator.h"

namespace neon {

namespace {

bool has_ending(const std::string& path, std::initializer_list<const char*> endings) {
  return std::ranges::any_of(endings, [&](const char* ending) { return path.ends_with(ending); });
}

std::string whole_input() {
  std::string out;
  char buffer[65536];
  while (const size_t got = std::fread(buffer, 1, sizeof buffer, stdin)) out.append(buffer, got);
  return out;
}

struct Samples {
  Tensor inputs;
  std::vector<std::string> names;
};

// What the checkpoint says of its data.
struct Stored {
  Shape sample;  // images (C,H,W)
  float scale = 1, shift = 0;
  int64_t classes = 0, image_size = 0;
  bool channels_last = false;
  bool rows_channels_last = false;        // (H,W,C) was the order of images in arrays
  std::vector<double> means, deviations;  // by channel
  Shape in_memory() const { return channels_last ? sample.slice(1, 3).concat({sample[0]}) : sample; }
};

// A row of numbers a line; a first line without numbers is a header.
Tensor csv_numbers(const std::string& content, const std::string& name) {
  CsvReader reader(content, name.ends_with(".tsv") ? '\t' : ',', name);
  std::vector<CsvCell> cells;
  std::vector<float> numbers;
  size_t columns = 0;
  bool header = false;
  for (bool first = true; reader.next(cells); first = false) {
    double value = 0;
    if (first && std::ranges::none_of(cells, [&](const CsvCell& cell) { return parse_number(cell.text, value); })) {
      header = true;
      continue;
    }
    if (columns && cells.size() != columns)
      reader.fail_at(cells.front(), text(cells.size(), " cells, the lines before have ", columns));
    columns = cells.size();
    for (const CsvCell& cell : cells) {
      if (!parse_number(cell.text, value)) reader.fail_at(cell, text(in_quotes(cell.text), " is no number"));
      numbers.push_back(float(value));
    }
  }
  if (columns == 0)
    fail(ErrorKind::data, name, ": holds no samples",
         header ? "; its first line has no number in its cells, so it is taken for the columns' names" : "");
  Tensor out(DType::f32, {columns ? int64_t(numbers.size() / columns) : 0, int64_t(columns)});
  std::ranges::copy(numbers, out.as<float>().begin());
  return input_array(out, name);
}

// x (H,W,C) as (C,H,W)
Tensor channels_first(const Tensor& x) {
  const int64_t channels = x.shape()[2], places = x.elements() / channels;
  Tensor out(DType::u8, {channels, x.shape()[0], x.shape()[1]});
  for (int64_t i = 0; i < places; ++i)
    for (int64_t c = 0; c < channels; ++c)
      out.as<uint8_t>()[size_t(c * places + i)] = x.as<uint8_t>()[size_t(i * channels + c)];
  return out;
}

// Images made as those of the training were, or of the net's own size, one below the other.
Tensor images(const std::vector<std::pair<std::string, std::string>>& files, const Stored& stored) {
  Tensor out(DType::u8, Shape{int64_t(files.size())}.concat(stored.in_memory()));
  const ImageFormat format{stored.sample.rank() == 3 ? stored.sample[0] : 1, stored.image_size};
  for (size_t i = 0; i < files.size(); ++i) {
    const auto& [name, content] = files[i];
    Tensor image = read_image(content, format, name);
    if (image.elements() != stored.sample.elements())
      fail(ErrorKind::data, name, ": an image of ", image.shape()[1], " x ", image.shape()[0],
           " pixels, the net takes ", stored.sample);
    if (!stored.channels_last) image = channels_first(image);
    std::ranges::copy(image.as<uint8_t>(), out.rows(int64_t(i), 1).as<uint8_t>().begin());
  }
  return out;
}

std::vector<std::string> image_files(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (is_image_name(entry.path().string())) out.push_back(entry.path().string());
  std::ranges::sort(out);
  if (out.empty()) fail(ErrorKind::data, folder, ": no image (.jpg, .jpeg, .png) in this folder");
  return out;
}

Shape without_ones(const Shape& shape) {
  std::vector<int64_t> sizes;
  std::ranges::copy_if(shape, std::back_inserter(sizes), [](int64_t size) { return size != 1; });
  return Shape(sizes);
}

// Whether samples of this shape are images (H,W,C). Rows, and images with as many channels as rows and columns, are
// taken for what the arrays were that the net was trained with.
bool are_channels_last(const Shape& sample, const Stored& stored, const std::string& name) {
  const Shape first = stored.sample, last = stored.in_memory(), own = without_ones(sample);
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

// Arrays as the net's data lie in memory.
Tensor arranged(const Tensor& x, const Stored& stored, const std::string& name) {
  const Shape& shape = x.shape();
  const Shape sample = shape.rank() > 0 ? shape.slice(1, shape.rank()) : shape;
  if (!stored.channels_last || shape.elements() == 0 || sample.elements() != stored.sample.elements()) return x;
  if (are_channels_last(sample, stored, name)) return x;
  return with_channels_last(x.reshaped(Shape{shape[0]}.concat(stored.sample)));
}

// The samples and, for images, what each is called.
Samples read_samples(const std::string& path, const Stored& stored) {
  if (path == "-") {
    const std::string content = whole_input();
    if (is_png(content) || is_jpeg(content)) return {images({{"stdin", content}}, stored), {"stdin"}};
    return {arranged(csv_numbers(content, "stdin"), stored, "stdin"), {}};
  }
  if (std::filesystem::is_directory(path) || is_image_name(path)) {
    const auto names = is_image_name(path) ? std::vector<std::string>{path} : image_files(path);
    std::vector<std::pair<std::string, std::string>> files;
    for (const std::string& name : names) files.emplace_back(name, read_maybe_gzip(name));
    return {images(files, stored), names};
  }
  if (has_ending(path, {".npy"})) return {arranged(input_array(read_npy(path), path), stored, path), {}};
  if (has_ending(path, {"-ubyte", "-ubyte.gz", ".idx", ".idx.gz"}))
    return {arranged(input_array(read_idx(path), path), stored, path), {}};
  if (has_ending(path, {".csv", ".csv.gz", ".tsv", ".txt"}))
    return {arranged(csv_numbers(read_maybe_gzip(path), path), stored, path), {}};
  fail(ErrorKind::config, path,
       ": samples are read from .csv, .npy, IDX (-ubyte), .jpg and .png files, a folder of images, or from stdin as -");
}

Stored stored_layout(const StoredRun& run, const std::string& path) {
  try {
    const auto json = nlohmann::json::parse(run.file.metadata.at("neon.data"));
    Stored out;
    out.sample = Shape(json.at("sample").get<std::vector<int64_t>>());
    out.scale = std::strtof(json.at("scale").get<std::string>().c_str(), nullptr);
    out.shift = std::strtof(json.at("shift").get<std::string>().c_str(), nullptr);
    out.classes = json.at("classes").get<int64_t>();
    out.channels_last = json.value("channels_last", false);
    out.rows_channels_last = json.value("rows_channels_last", false);
    out.image_size = json.value("image_size", int64_t(0));
    out.means = run.means;
    out.deviations = run.deviations;
    if (!out.means.empty() && (out.sample.rank() != 3 || int64_t(out.means.size()) != out.sample[0]))
      fail(ErrorKind::data, path, ": neon.data has ", out.means.size(), " means for samples ", out.sample);
    if (out.channels_last && out.sample.rank() != 3) fail(ErrorKind::data, "images of shape ", out.sample);
    return out;
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorKind::data, path, ": neon.data in its metadata cannot be read: ", error.what());
  } catch (const std::out_of_range&) {
    fail(ErrorKind::data, path, ": no neon.data in its metadata: this is not a checkpoint of neon");
  }
}

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
    std::printf("%s\n", line.c_str());
  }

  void row(const std::string& sample, const Tensor& y, int64_t at) const {
    const int64_t outputs = y.shape()[1];
    std::vector<int64_t> order(static_cast<size_t>(outputs));
    for (size_t i = 0; i < order.size(); ++i) order[i] = int64_t(i);
    auto value = [&](int64_t k) { return y.at(at * outputs + k); };
    if (classes_) {
      std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return value(a) > value(b); });
      order.resize(size_t(top_));
    }
    if (json_) return print_json(sample, order, value);
    std::string line = quoted(sample);
    for (int64_t k : order)
      line += classes_ ? text(",", quoted(name(k)), ",", float(value(k))) : text(",", float(value(k)));
    std::printf("%s\n", line.c_str());
  }

 private:
  std::string name(int64_t k) const { return size_t(k) < names_.size() ? names_[size_t(k)] : std::to_string(k); }
  static std::string quoted(const std::string& s) {
    if (s.find_first_of(",\"\n") == s.npos) return s;
    std::string out = "\"";
    for (char c : s) out += c == '"' ? "\"\"" : std::string(1, c);
    return out + "\"";
  }
  void print_json(const std::string& sample, const std::vector<int64_t>& order, auto&& value) const {
    nlohmann::ordered_json line;
    line["sample"] = sample;
    if (!classes_) {
      for (int64_t k : order) line["outputs"].push_back(float(value(k)));
    } else {
      for (int64_t k : order) line["top"].push_back({{"class", name(k)}, {"output", float(value(k))}});
    }
    std::printf("%s\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  }
  bool json_;
  int64_t top_;
  std::vector<std::string> names_;
  int64_t classes_;
};

}  // namespace

int run_predict(const CommandLine& line) {
  if (line.operands.size() != 2)
    fail(ErrorKind::config, "usage: neon predict CHECKPOINT FILE (FILE - is CSV on stdin)");
  const std::string &path = line.operands[0], &samples_path = line.operands[1];
  const OpenedRun opened = open_checkpoint(line, path);
  const Stored stored = stored_layout(opened.run, path);
  const Samples read = read_samples(samples_path, stored);
  const Tensor& samples = read.inputs;
  const int64_t count = samples.shape().rank() ? samples.shape()[0] : 0;
  const int64_t features = count ? samples.elements() / count : 0;
  if (count == 0) fail(ErrorKind::data, samples_path, ": holds no samples");
  if (features != stored.sample.elements())
    fail(ErrorKind::data, samples_path, ": samples of ", features, " numbers, the net takes ", stored.sample.elements(),
         " ", stored.sample);
  DataLayout layout;
  layout.data_dtype = samples.dtype();
  layout.sample = stored.sample;
  layout.channels_last = stored.channels_last;
  layout.train_size = count;
  layout.scale = stored.scale;
  layout.shift = stored.shift;
  layout.means = stored.means;
  layout.deviations = stored.deviations;
  StepOptions step = step_options(opened.run.options, opened.experiment->params);
  step.batch = std::min<int64_t>(count, 256);
  const StepGraph graph = evaluation_graph(opened.experiment->network(), nullptr, {}, layout, count, step);
  Variables variables;
  // A few samples are done before a GPU has woken up, so it is used only where it is asked for.
  RunOptions asked = line.run();
  if (asked.backend.empty()) asked.backend = "cpu";
  choose_backend(asked, *opened.experiment);
  const auto program = compile_program(graph.graph, variables, device_options(asked, *opened.experiment));
  restore_variables(evaluated_weights(opened.run.file, opened.experiment->params.ema > 0), path, variables);
  Tensor indices(DType::i32, {step.batch});
  variables.to_device();
  program->bind("data", samples.data());
  const Printer printer(line, opened.run.class_names, stored.classes);
  printer.head(graph.outputs[0].width);
  for (int64_t first = 0; first < count; first += step.batch) {
    for (int64_t i = 0; i < step.batch; ++i) indices.set(i, double(std::min(first + i, count - 1)));
    program->bind("indices", indices.data());
    program->run(0);
    const Tensor y = program->output("y");
    for (int64_t i = 0; i < step.batch && first + i < count; ++i)
      printer.row(read.names.empty() ? std::to_string(first + i) : read.names[size_t(first + i)], y, i);
  }
  return 0;
}

}  // namespace neon
