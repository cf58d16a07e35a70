// MNIST and FashionMNIST: four IDX files, plain or gzip, from a folder, from Debian's package, or fetched.
#include <algorithm>

#include "datasets/dataset.h"
#include "datasets/idx.h"
#include "datasets/mnist_files.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

constexpr int64_t kTrainSamples = 60000, kTestSamples = 10000;

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

void check_shapes(const Shape& images, const Shape& labels, const std::string& image_path,
                  const std::string& label_path) {
  if (images.rank() != 3 || images[1] != 28 || images[2] != 28)
    fail(ErrorKind::data, image_path, ": holds ", images, ", expected images of 28 x 28: (n, 28, 28)");
  if (labels.rank() != 1) fail(ErrorKind::data, label_path, ": holds ", labels, ", expected labels: (n)");
  if (images[0] != labels[0])
    fail(ErrorKind::data, image_path, ": has ", images[0], " images, but ", label_path, " has ", labels[0], " labels");
}

// MNIST's files under FashionMNIST's name, or the reverse, would train well and mean nothing.
void check_kind(const MnistKind& kind, const MnistKind& other, const Tensor& labels, const std::string& path) {
  const auto values = labels.as<int32_t>();
  const auto& first = other.first_labels;
  if (values.size() == size_t(kTrainSamples) && std::equal(first.begin(), first.end(), values.begin()))
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
    MnistFiles files = find_mnist(kind(), context, partial);
    if (!files) {
      std::string why = missing(context, partial);
      if (context.may_download) files = try_fetch(context, why);
      if (!files && params.fallback) return load_fallback(context);
      if (!files) fail(ErrorKind::data, why, how_to_get(context));
    }
    Data data;
    data.train = read_split(files, 0);
    data.test = read_split(files, 2);
    check_kind(kind(), other_kind(), data.train.targets, files.paths[1]);
    data.meaning() = meaning();
    data.source = files.folder;
    return finish(std::move(data), context);
  }

  DataCheck check(const DataContext& context) const override {
    DataCheck out;
    out.meaning() = meaning();
    out.command = mnist_command(kind(), context);
    std::string partial;
    const MnistFiles files = find_mnist(kind(), context, partial);
    if (!files) {
      const std::string likeliest = mnist_folders(kind(), context).front();
      out.missing = partial.empty() ? join_path(likeliest, text(kind().files.front().name, ".gz")) : partial;
      out.train_size = kTrainSamples;
      out.test_size = kTestSamples;
      if (!params.fallback) return finish(out);
      const DataCheck fallback = params.fallback->check(in_memory(context));
      if (!fallback.found && fallback.source.empty()) return finish(out);
      check_fallback(fallback, fallback.streamed);
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
  virtual const MnistKind& kind() const = 0;
  virtual const MnistKind& other_kind() const = 0;

 private:
  // None, and the reason added to `why`, when they cannot be had.
  MnistFiles try_fetch(const DataContext& context, std::string& why) const {
    try {
      return fetch_mnist(kind(), context);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data) throw;
      why += text("; ", error.what());
      return {};
    }
  }

  static int64_t check_split(const MnistFiles& files, size_t first) {
    const Shape images = read_idx_header(files.paths[first]).shape,
                labels = read_idx_header(files.paths[first + 1]).shape;
    check_shapes(images, labels, files.paths[first], files.paths[first + 1]);
    return images[0];
  }

  Split read_split(const MnistFiles& files, size_t first) const {
    check_split(files, first);
    const std::string &image_path = files.paths[first], &label_path = files.paths[first + 1];
    const Tensor images = read_idx(image_path), labels = read_idx(label_path);
    if (images.dtype() != DType::u8)
      fail(ErrorKind::data, image_path, ": its pixels are ", images.dtype(), ", expected bytes (u8)");
    return {padded(images, params.size), class_labels(labels, 10, label_path)};
  }

  SampleMeaning meaning() const {
    SampleMeaning out;
    out.sample = {1, params.size, params.size};
    out.dtype = DType::u8;
    if (params.normalize || params.sym_range) out.scale_bytes(params.sym_range);
    out.classes = 10;
    out.class_names.assign(kind().class_names.begin(), kind().class_names.end());
    return out;
  }

  std::string missing(const DataContext& context, const std::string& partial) const {
    return text(kind().name, ": its files are in none of ", join(mnist_folders(kind(), context), ", "),
                partial.empty() ? "" : " (" + partial + ")");
  }
  std::string how_to_get(const DataContext& context) const { return "; to get it: " + mnist_command(kind(), context); }

  Data load_fallback(const DataContext& context) const {
    Data data = params.fallback->load(in_memory(context));
    const std::string name = fallback_name();
    check_fallback(data, data.train.reader != nullptr);
    for (Split* split : {&data.train, &data.test, &data.validation})
      if (split->size() > 0) split->inputs = padded(split->inputs.reshaped({split->size(), 28, 28}), params.size);
    const std::string source = data.source;
    SampleMeaning own = meaning();
    own.channels_last = data.channels_last;  // in images of one channel the numbers lie in the same order
    own.image_size = data.image_size;        // predict brings other images to the stand-in's size
    data.meaning() = own;
    data.source = text(name, " in place of ", kind().name, ": ", source);
    context.warn_of_stand_in(kind().name, name);
    return finish(std::move(data), context);
  }

  std::string fallback_name() const { return params.fallback.resolved().entries.front().key; }

  static DataContext in_memory(DataContext context) {
    context.streams = false;
    return context;
  }

  void check_fallback(const SampleMeaning& data, bool streamed) const {
    if (streamed)
      fail(ErrorKind::config, "fallback ", fallback_name(), ": a stand-in for ", kind().name,
           " is held in memory; leave stream: true out");
    if (data.sample == Shape{1, 28, 28} && data.classes == 10) return;
    fail(ErrorKind::config, "fallback ", fallback_name(), ": its samples are ", data.sample, " of ", data.classes,
         " classes, those of ", kind().name, " are (1, 28, 28) of 10");
  }
};

class MNIST : public IdxDataset {
 public:
  using IdxDataset::IdxDataset;

 protected:
  const MnistKind& kind() const override { return mnist_kind(); }
  const MnistKind& other_kind() const override { return fashion_mnist_kind(); }
};

class FashionMNIST : public IdxDataset {
 public:
  using IdxDataset::IdxDataset;

 protected:
  const MnistKind& kind() const override { return fashion_mnist_kind(); }
  const MnistKind& other_kind() const override { return mnist_kind(); }
};

NEON_REGISTER(Dataset, MNIST, "Handwritten digits: 60,000 + 10,000 grey images of 28 x 28, 10 classes.");
NEON_REGISTER(Dataset, FashionMNIST, "Pieces of clothing: 60,000 + 10,000 grey images of 28 x 28, 10 classes.");

}  // namespace

}  // namespace neon
