#include "datasets/mnist_files.h"

#include <algorithm>

#include "datasets/download.h"
#include "datasets/file.h"
#include "neon/core/paths.h"
#include "neon/core/text.h"

namespace neon {

const MnistKind& mnist_kind() {
  static const MnistKind kind{
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

const MnistKind& fashion_mnist_kind() {
  static const MnistKind kind{
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

namespace {

std::string existing_file(const std::string& folder, const std::string& name) {
  std::string dotted = name;  // train-images.idx3-ubyte: what some archives unpack to
  dotted[dotted.rfind("-idx")] = '.';
  for (const std::string& candidate : {name + ".gz", name, dotted, dotted + ".gz"})
    if (std::string path = join_path(folder, candidate); file_exists(path)) return path;
  return "";
}

std::string download_folder(const MnistKind& kind, const DataContext& context) {
  return join_path(context.data_folder(), kind.folders.front());
}

std::string curl_command(const MnistKind& kind, const DataContext& context) {
  std::string names;
  for (const DistributedFile& source : kind.files) names += text(names.empty() ? "" : " ", source.name);
  return text("for f in ", names, "; do curl -fL --create-dirs -o ", shell_word(download_folder(kind, context)),
              "/$f.gz ", kind.mirrors.front(), "$f.gz; done");
}

}  // namespace

std::vector<std::string> mnist_folders(const MnistKind& kind, const DataContext& context) {
  std::vector<std::string> out;
  auto add = [&](std::string folder) {
    if (std::find(out.begin(), out.end(), folder) == out.end()) out.push_back(std::move(folder));
  };
  const std::string data = context.data_folder();
  for (const char* folder : kind.folders) add(join_path(data, folder));
  add(data);
  add(join_path(cache_dir(), kind.folders.front()));
  for (const char* place : kind.places) add(place);
  return out;
}

MnistFiles find_mnist(const MnistKind& kind, const DataContext& context, std::string& partial) {
  for (const std::string& folder : mnist_folders(kind, context)) {
    MnistFiles files{folder, {}};
    std::string lacks;
    for (const DistributedFile& source : kind.files) {
      std::string path = existing_file(folder, source.name);
      if (path.empty()) lacks += text(lacks.empty() ? "" : ", ", source.name);
      else files.paths.push_back(std::move(path));
    }
    if (lacks.empty()) {
      const bool is_fixed = std::ranges::count(kind.places, folder) > 0;
      for (const std::string& path : files.paths)
        if (!is_fixed) context.check_may_read(path, "");
      return files;
    }
    if (!files.paths.empty() && partial.empty()) partial = folder + " lacks " + lacks;
  }
  return {};
}

std::string mnist_command(const MnistKind& kind, const DataContext& context) {
  return *kind.command ? kind.command : curl_command(kind, context);
}

MnistFiles fetch_mnist(const MnistKind& kind, const DataContext& context) {
  MnistFiles files{download_folder(kind, context), {}};
  for (const DistributedFile& source : kind.files) {
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

}  // namespace neon
