#include "neon/cli/samples.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "datasets/channels.h"
#include "datasets/file.h"
#include "datasets/gzip.h"
#include "datasets/idx.h"
#include "datasets/image.h"
#include "datasets/image_store.h"
#include "datasets/jpeg_image.h"
#include "datasets/npy.h"
#include "datasets/png_image.h"
#include "datasets/tar.h"
#include "neon/cli/session.h"
#include "neon/core/nearest_file.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

bool has_ending(const std::string& path, std::initializer_list<const char*> endings) {
  return std::ranges::any_of(endings, [&](const char* ending) { return path.ends_with(ending); });
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
Tensor images(const std::vector<std::pair<std::string, std::string>>& files, const StoredData& stored) {
  Tensor out(DType::u8, Shape{int64_t(files.size())}.concat(stored.in_memory()));
  const ImageFormat format{stored.sample.rank() == 3 ? stored.sample[0] : 1, stored.image_size};
  for (size_t i = 0; i < files.size(); ++i) {
    const auto& [name, content] = files[i];
    Tensor image = read_image(content, format, name);
    if (image.elements() != stored.sample.elements())
      fail(ErrorKind::data, name, ": an image of ", image.shape()[1], " x ", image.shape()[0],
           " pixels, the net takes ", stored.sample,
           "; scale it to that size, or train with size: ", stored.sample.rank() == 3 ? text(stored.sample[1]) : "N",
           " in the data set, which predict applies too");
    if (!stored.channels_last) image = channels_first(image);
    std::ranges::copy(image.as<uint8_t>(), out.rows(int64_t(i), 1).as<uint8_t>().begin());
  }
  return out;
}

// Also those in its folders, as of an archive.
std::vector<std::string> image_files(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (is_image_name(entry.path().string()) && !entry.is_directory()) out.push_back(entry.path().string());
  std::ranges::sort(out);
  if (out.empty()) fail(ErrorKind::data, folder, ": no image (.jpg, .jpeg, .png) in this folder");
  return out;
}

// The images of an archive, in order of their names.
Samples archived(const std::string& path, const StoredData& stored) {
  const auto store = open_image_store(path);
  std::vector<std::string> names = store->names();
  std::erase_if(names, [](const std::string& name) { return !is_image_name(name); });
  if (names.empty()) fail(ErrorKind::data, path, ": no image (.jpg, .jpeg, .png) in this archive");
  store->want(names);
  std::vector<std::pair<std::string, std::string>> files(names.size());
  for (auto some = store->next(); !some.empty(); some = store->next())
    for (ImageStore::File& file : some) {
      store->load(file);
      files[file.index] = {store->where(names[file.index]), std::move(file.content)};
    }
  return {images(files, stored), names};
}

Shape without_ones(const Shape& shape) {
  std::vector<int64_t> sizes;
  std::ranges::copy_if(shape, std::back_inserter(sizes), [](int64_t size) { return size != 1; });
  return Shape(sizes);
}

// Whether samples of this shape are images (H,W,C). Rows, and images with as many channels as rows and columns, are
// taken for what the arrays were that the net was trained with.
bool are_channels_last(const Shape& sample, const StoredData& stored, const std::string& name) {
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
Tensor arranged(const Tensor& x, const StoredData& stored, const std::string& name) {
  const Shape& shape = x.shape();
  const Shape sample = shape.rank() > 0 ? shape.slice(1, shape.rank()) : shape;
  if (!stored.channels_last || shape.elements() == 0 || sample.elements() != stored.sample.elements()) return x;
  if (are_channels_last(sample, stored, name)) return x;
  return with_channels_last(x.reshaped(Shape{shape[0]}.concat(stored.sample)));
}

Tensor table(const std::string& content, const std::string& name, const StoredData& stored) {
  std::vector<std::string> notes;
  Tensor out = read_sample_table(content, name, stored, notes);
  print_warnings(notes);
  return arranged(out, stored, name);
}

// A pipe has no ending that tells its kind, so the first bytes do.
Samples read_pipe(int descriptor, const std::string& name, const StoredData& stored) {
  GzipReader reader(descriptor, name);
  const std::string content = read_maybe_gzip(reader);
  if (is_png(content) || is_jpeg(content)) return {images({{name, content}}, stored), {name}};
  if (content.starts_with("\x93NUMPY"))
    return {arranged(input_array(read_npy(MemorySource(content, name)), name), stored, name), {}};
  if (content.starts_with(std::string(2, '\0')))
    return {arranged(input_array(parse_idx(content, name), name), stored, name), {}};
  if (content.substr(0, 512).find('\0') != content.npos)
    fail(ErrorKind::data, name, ": is neither text (CSV), NPY, IDX, JPEG nor PNG", looks_like_clause(content));
  return {table(content, name, stored), {}};
}

TableColumns table_from(const nlohmann::json& json) {
  TableColumns out;
  out.count = json.at("columns").get<int64_t>();
  out.features = json.at("features").get<std::vector<std::string>>();
  out.others = json.at("others").get<std::vector<std::string>>();
  out.positions = json.value("positions", std::vector<int64_t>());  // not in old checkpoints
  out.missing = json.value("missing", default_missing_marks());
  int64_t before = -1;
  for (const int64_t position : out.positions) {
    if (position <= before || position >= out.count) fail(ErrorKind::data, "neon.data has a column ", position);
    before = position;
  }
  const auto delimiter = json.at("delimiter").get<std::string>();
  if (delimiter.size() != 1) fail(ErrorKind::data, "neon.data has the delimiter ", in_quotes(delimiter));
  out.delimiter = delimiter[0];
  return out;
}

}  // namespace

StoredData stored_data(const StoredRun& run, const std::string& path) {
  try {
    const auto json = nlohmann::json::parse(run.file.metadata.at("neon.data"));
    StoredData out;
    out.sample = Shape(json.at("sample").get<std::vector<int64_t>>());
    out.scale = std::strtof(json.at("scale").get<std::string>().c_str(), nullptr);
    out.shift = std::strtof(json.at("shift").get<std::string>().c_str(), nullptr);
    out.classes = json.at("classes").get<int64_t>();
    out.channels_last = json.value("channels_last", false);
    out.rows_channels_last = json.value("rows_channels_last", false);
    out.image_size = json.value("image_size", int64_t(0));
    if (const auto table = json.find("table"); table != json.end() && !table->is_null()) out.table = table_from(*table);
    out.means = run.means;
    out.deviations = run.deviations;
    out.subtracted = run.subtracted;
    if (!out.subtracted.empty() && out.sample.elements() % int64_t(out.subtracted.size()))
      fail(ErrorKind::data, path, ": neon.data subtracts ", out.subtracted.size(), " numbers from samples ",
           out.sample);
    if (!out.means.empty() && (out.sample.rank() != 3 || int64_t(out.means.size()) != out.sample[0]))
      fail(ErrorKind::data, path, ": neon.data has ", out.means.size(), " means for samples ", out.sample);
    if (out.channels_last && out.sample.rank() != 3) fail(ErrorKind::data, "images of shape ", out.sample);
    return out;
  } catch (const nlohmann::json::exception&) {
    fail(ErrorKind::data, path, ": neon.data in its metadata cannot be read: it does not describe samples");
  } catch (const std::out_of_range&) {
    fail(ErrorKind::data, path, ": no neon.data in its metadata: this is not a checkpoint of neon");
  }
}

Tensor without_mean(const Tensor& samples, const StoredData& stored) {
  if (stored.subtracted.empty()) return samples;
  Tensor out = samples.dtype() == DType::f32 ? samples.clone() : samples.converted(DType::f32);
  const auto values = out.as<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] -= float(stored.subtracted[i % stored.subtracted.size()]);
  return out;
}

Samples read_samples(const std::string& path, const StoredData& stored) {
  if (path == "-") return read_pipe(STDIN_FILENO, "stdin", stored);
  if (is_read_once(path) || path.starts_with("/dev/")) {  // /dev/stdin may be a file without its name
    const Descriptor pipe(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (pipe.number < 0) fail(ErrorKind::data, path, ": ", std::strerror(errno));
    return read_pipe(pipe.number, path, stored);
  }
  if (std::filesystem::is_directory(path) || is_image_name(path)) {
    const auto names = is_image_name(path) ? std::vector<std::string>{path} : image_files(path);
    std::vector<std::pair<std::string, std::string>> files;
    for (const std::string& name : names) files.emplace_back(name, read_maybe_gzip(name));
    return {images(files, stored), names};
  }
  if (has_ending(path, {".npy.gz"})) {
    const std::string content = read_maybe_gzip(path);
    return {arranged(input_array(read_npy(MemorySource(content, path)), path), stored, path), {}};
  }
  if (has_ending(path, {".npy"})) return {arranged(input_array(read_npy(path), path), stored, path), {}};
  if (has_ending(path, {"-ubyte", "-ubyte.gz", ".idx", ".idx.gz"}))
    return {arranged(input_array(read_idx(path), path), stored, path), {}};
  if (has_ending(path, {".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz"}))
    return {table(read_maybe_gzip(path), path, stored), {}};
  if (is_tar_name(path)) return archived(path, stored);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    fail(ErrorKind::data, path, ": there is no such file", nearest_file(path));
  fail(ErrorKind::config, path,
       ": samples are read from .csv, .npy, IDX (-ubyte), .jpg and .png files, a folder or .tar of images, or from "
       "stdin as -");
}

}  // namespace neon
