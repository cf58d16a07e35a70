// MNIST and FashionMNIST: four IDX files, plain or gzip, from a folder, from Debian's package, or fetched.
#include <algorithm>

#include "datasets/dataset.h"
#include "datasets/download.h"
#include "datasets/file.h"
#include "datasets/idx.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

struct IdxParams {
  bool normalize = true;
  bool sym_range = false;
  int64_t size = 28;
  Made<Dataset> fallback;
  static void describe(auto&& p) {
    p("normalize", &IdxParams::normalize, "Whether the net sees 0 to 1; otherwise 0 to 255.");
    p("sym_range", &IdxParams::sym_range, "Whether the net sees -1 to 1 instead of 0 to 1.");
    p("size", &IdxParams::size, "Side of the image; above 28 a border of zeros is added around it.", closed(28, 1024),
      Unit{"pixels"});
    p("fallback", &IdxParams::fallback,
      "Data set to use, with a warning, when this one is not here and cannot be fetched: Digits needs no files.");
  }
};

// One of the four files as it is distributed.
struct Source {
  const char* name;  // without .gz
  const char* sha256;
  int64_t bytes;  // of the .gz
};
// What MNIST and FashionMNIST differ in.
struct Kind {
  const char* name;
  std::vector<const char*> folders;  // looked for under the data folder; the first one under the cache folder
  std::vector<const char*> places;   // absolute
  std::vector<const char*> mirrors;  // each ends in a slash
  std::vector<Source> files;         // training images and labels, test images and labels
  const char* command;               // gets it without neon; "" when curl is the way
  std::vector<const char*> class_names;
  std::vector<uint8_t> first_labels;  // of the training set, to tell the two apart: their files are named alike
};

const Kind& mnist_kind() {
  static const Kind kind{
      "MNIST",
      {"mnist", "MNIST", "MNIST/raw"},
      {},
      {"https://storage.googleapis.com/cvdf-datasets/mnist/", "https://ossci-datasets.s3.amazonaws.com/mnist/"},
      {{"train-images-idx3-ubyte", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609", 9912422},
       {"train-labels-idx1-ubyte", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c", 28881},
       {"t10k-images-idx3-ubyte", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6", 1648877},
       {"t10k-labels-idx1-ubyte", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6", 4542}},
      "",
      {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
      {5, 0, 4, 1, 9, 2, 1, 3, 1, 4, 3, 5, 3, 6, 1, 7}};
  return kind;
}

const Kind& fashion_kind() {
  static const Kind kind{
      "FashionMNIST",
      {"fashion-mnist", "fashionmnist", "FashionMNIST", "FashionMNIST/raw"},
      {"/usr/share/datasets/fashion-mnist"},  // Debian's package dataset-fashion-mnist
      {"https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
       "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"},
      {{"train-images-idx3-ubyte", "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84", 26421880},
       {"train-labels-idx1-ubyte", "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845", 29515},
       {"t10k-images-idx3-ubyte", "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073", 4422102},
       {"t10k-labels-idx1-ubyte", "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5", 5148}},
      "apt-get install dataset-fashion-mnist",
      {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"},
      {9, 0, 0, 3, 0, 2, 7, 2, 5, 5, 0, 9, 5, 5, 7, 9}};
  return kind;
}

// The four files of one folder, in the order of Kind::files.
struct Files {
  std::string folder;
  std::vector<std::string> paths;
  explicit operator bool() const { return !paths.empty(); }
};

std::string existing_file(const std::string& folder, const std::string& name) {
  std::string dotted = name;  // train-images.idx3-ubyte: what some archives unpack to
  dotted[dotted.rfind("-idx")] = '.';
  for (const std::string& candidate : {name + ".gz", name, dotted, dotted + ".gz"})
    if (std::string path = join_path(folder, candidate); file_exists(path)) return path;
  return "";
}

std::string cache_folder(const Kind& kind) { return join_path(cache_dir(), kind.folders.front()); }

std::vector<std::string> folders_of(const Kind& kind, const DataContext& context) {
  std::vector<std::string> out;
  auto add = [&](std::string folder) {
    if (std::find(out.begin(), out.end(), folder) == out.end()) out.push_back(std::move(folder));
  };
  const std::string data = context.data_folder();
  for (const char* folder : kind.folders) add(join_path(data, folder));
  add(data);
  add(cache_folder(kind));
  for (const char* place : kind.places) add(place);
  return out;
}

// The first folder that has all four; `partial` says which folder had some of them, for the message.
Files find_files(const Kind& kind, const DataContext& context, std::string& partial) {
  for (const std::string& folder : folders_of(kind, context)) {
    Files files{folder, {}};
    std::string lacks;
    for (const Source& source : kind.files) {
      std::string path = existing_file(folder, source.name);
      if (path.empty()) lacks += text(lacks.empty() ? "" : ", ", source.name);
      else files.paths.push_back(std::move(path));
    }
    if (lacks.empty()) return files;
    if (!files.paths.empty() && partial.empty()) partial = folder + " lacks " + lacks;
  }
  return {};
}

std::string curl_command(const Kind& kind) {
  std::string names;
  for (const Source& source : kind.files) names += text(names.empty() ? "" : " ", source.name);
  return text("for f in ", names, "; do curl -fL --create-dirs -o ", cache_folder(kind), "/$f.gz ",
              kind.mirrors.front(), "$f.gz; done");
}

std::string command_of(const Kind& kind) { return *kind.command ? kind.command : curl_command(kind); }

Files fetch_files(const Kind& kind) {
  Files files{cache_folder(kind), {}};
  for (const Source& source : kind.files) {
    Download what;
    for (const char* mirror : kind.mirrors) what.urls.push_back(text(mirror, source.name, ".gz"));
    what.path = text(files.folder, "/", source.name, ".gz");
    what.sha256 = source.sha256;
    what.size_cap = source.bytes;
    download(what);
    files.paths.push_back(what.path);
  }
  return files;
}

void check_shapes(const Shape& images, const Shape& labels, const std::string& image_path,
                  const std::string& label_path) {
  if (images.rank() != 3 || images[1] != 28 || images[2] != 28)
    fail(ErrorKind::data, image_path, ": holds ", images, ", expected images of 28 x 28: (n, 28, 28)");
  if (labels.rank() != 1) fail(ErrorKind::data, label_path, ": holds ", labels, ", expected labels: (n)");
  if (images[0] != labels[0])
    fail(ErrorKind::data, image_path, ": has ", images[0], " images, but ", label_path, " has ", labels[0], " labels");
}

// MNIST's files under FashionMNIST's name, or the reverse, would train well and mean nothing.
void check_kind(const Kind& kind, const Kind& other, const Tensor& labels, const std::string& path) {
  const auto values = labels.as<int32_t>();
  const auto& first = other.first_labels;
  if (values.size() == 60000 && std::equal(first.begin(), first.end(), values.begin()))
    fail(ErrorKind::data, path, ": these are the labels of ", other.name, ", not of ", kind.name,
         ": the two have files of the same names; move them to a folder ", other.folders.front());
}

Tensor padded(const Tensor& images, int64_t size) {
  const int64_t n = images.shape()[0], side = images.shape()[1], before = (size - side) / 2;
  if (size == side) return images.reshaped({n, 1, side, side});
  Tensor out(DType::u8, {n, 1, size, size});
  const auto from = images.as<uint8_t>();
  const auto to = out.as<uint8_t>();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t row = 0; row < side; ++row)
      std::memcpy(&to[size_t((i * size + row + before) * size + before)], &from[size_t((i * side + row) * side)],
                  size_t(side));
  return out;
}

class IdxDataset : public Parametrized<Dataset, IdxParams> {
 public:
  Data load(const DataContext& context) const override {
    std::string partial;
    Files files = find_files(kind(), context, partial);
    if (!files) {
      std::string why = missing(context, partial);
      if (context.may_download) files = try_fetch(why);
      if (!files && params.fallback) return load_fallback(why, context);
      if (!files) fail(ErrorKind::data, why, how_to_get());
    }
    Data data;
    data.train = read_split(files, 0);
    data.test = read_split(files, 2);
    check_kind(kind(), other_kind(), data.train.targets, files.paths[1]);
    describe_values(data);
    data.source = files.folder;
    return finish(std::move(data), context);
  }

  DataCheck check(const DataContext& context) const override {
    DataCheck out;
    out.sample = {1, params.size, params.size};
    out.classes = 10;
    out.command = command_of(kind());
    std::string partial;
    const Files files = find_files(kind(), context, partial);
    if (!files) {
      out.missing = join_path(folders_of(kind(), context).front(), text(kind().files.front().name, ".gz"));
      if (!params.fallback) return out;
      const DataCheck fallback = params.fallback->check(context);
      check_fallback(fallback.sample);
      out.source = text(fallback_name(), " in place of ", kind().name, ": ", fallback.source);
      out.train_size = fallback.train_size;
      out.test_size = fallback.test_size;
      return finish(out);
    }
    out.found = true;
    out.source = files.folder;
    out.train_size = check_split(files, 0);
    out.test_size = check_split(files, 2);
    return finish(out);
  }

 protected:
  using Parametrized::Parametrized;
  virtual const Kind& kind() const = 0;
  virtual const Kind& other_kind() const = 0;

 private:
  // None, and the reason added to `why`, when they cannot be had.
  Files try_fetch(std::string& why) const {
    try {
      return fetch_files(kind());
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data) throw;
      why += text("; ", error.what());
      return {};
    }
  }

  static int64_t check_split(const Files& files, size_t first) {
    const Shape images = read_idx_header(files.paths[first]).shape,
                labels = read_idx_header(files.paths[first + 1]).shape;
    check_shapes(images, labels, files.paths[first], files.paths[first + 1]);
    return images[0];
  }

  Split read_split(const Files& files, size_t first) const {
    check_split(files, first);
    const std::string &image_path = files.paths[first], &label_path = files.paths[first + 1];
    const Tensor images = read_idx(image_path), labels = read_idx(label_path);
    if (images.dtype() != DType::u8)
      fail(ErrorKind::data, image_path, ": its pixels are ", images.dtype(), ", expected bytes (u8)");
    return {padded(images, params.size), class_labels(labels, 10, label_path)};
  }

  void describe_values(Data& data) const {
    data.sample = {1, params.size, params.size};
    data.classes = 10;
    data.class_names.assign(kind().class_names.begin(), kind().class_names.end());
    if (params.sym_range) {
      data.scale = 2.0f / 255.0f;
      data.shift = -1;
    } else if (params.normalize) {
      data.scale = 1.0f / 255.0f;
    }
  }

  std::string missing(const DataContext& context, const std::string& partial) const {
    return text(kind().name, ": its files are in none of ", join(folders_of(kind(), context), ", "),
                partial.empty() ? "" : " (" + partial + ")");
  }
  std::string how_to_get() const { return "; to get it: " + command_of(kind()); }

  Data load_fallback(const std::string& why, const DataContext& context) const {
    Data data = params.fallback->load(context);
    const std::string name = fallback_name();
    check_fallback(data.sample);
    for (Split* split : {&data.train, &data.test, &data.validation})
      if (split->size() > 0) split->inputs = padded(split->inputs.reshaped({split->size(), 28, 28}), params.size);
    const std::string source = data.source;
    describe_values(data);
    data.source = text(name, " in place of ", kind().name, ": ", source);
    context.warn(text("using ", name, " in place of ", kind().name, ": results say nothing about ", kind().name, ". ",
                      why, how_to_get()));
    return finish(std::move(data), context);
  }

  std::string fallback_name() const { return params.fallback.resolved().entries.front().key; }

  void check_fallback(const Shape& sample) const {
    if (sample != Shape{1, 28, 28})
      fail(ErrorKind::config, "fallback ", fallback_name(), ": its samples are ", sample, ", those of ", kind().name,
           " are (1, 28, 28)");
  }
};

class MNIST : public IdxDataset {
 public:
  using IdxDataset::IdxDataset;

 protected:
  const Kind& kind() const override { return mnist_kind(); }
  const Kind& other_kind() const override { return fashion_kind(); }
};

class FashionMNIST : public IdxDataset {
 public:
  using IdxDataset::IdxDataset;

 protected:
  const Kind& kind() const override { return fashion_kind(); }
  const Kind& other_kind() const override { return mnist_kind(); }
};

NEON_REGISTER(Dataset, MNIST, "Handwritten digits: 60,000 + 10,000 grey images of 28 x 28, 10 classes.");
NEON_REGISTER(Dataset, FashionMNIST, "Pieces of clothing: 60,000 + 10,000 grey images of 28 x 28, 10 classes.");

}  // namespace

}  // namespace neon
