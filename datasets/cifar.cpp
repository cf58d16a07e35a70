// CIFAR10 and CIFAR100 (Krizhevsky 2009): records of labels and pixels, from a folder, from the archive that they are
// distributed as, or fetched.
#include <algorithm>

#include "datasets/cifar_files.h"
#include "datasets/cifar_pickles.h"
#include "datasets/file.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

struct CifarParams {
  bool normalize = true;
  Made<Dataset> fallback;
  static void describe(auto&& p) {
    p("normalize", &CifarParams::normalize, "Scales pixels to 0 to 1 instead of 0 to 255.");
    p("fallback", &CifarParams::fallback,
      "Data set to use, with a warning, where this one is neither here nor can be downloaded.");
  }
};
struct Cifar10Params : CifarParams {
  bool pad_classes = false;
  static void describe(auto&& p) {
    CifarParams::describe(p);
    p("pad_classes", &Cifar10Params::pad_classes,
      "Gives the net 16 classes, as neon 1.x did for its GPU kernels: the last 6 have no samples.");
  }
};
struct Cifar100Params : CifarParams {
  bool coarse_labels = false;
  static void describe(auto&& p) {
    CifarParams::describe(p);
    p("coarse_labels", &Cifar100Params::coarse_labels, "Uses the 20 groups of classes instead of the 100 classes.");
  }
};

constexpr int64_t kTrainImages = 50000, kTestImages = 10000;
constexpr int64_t kCifar10Classes = 10, kPaddedClasses = 16;

// The reader of CIFAR-10 and CIFAR-100. `label` chooses among a record's labels.
class CifarReader {
 public:
  CifarReader(const CifarKind& kind, const CifarParams& params, int label, int64_t classes)
      : kind_(kind), params_(params), label_(label), classes_(classes) {}

  // Before Dataset::finish.
  Data load(const DataContext& context) const {
    std::string place = find_cifar(kind_, context);
    if (place.empty()) {
      std::string why = missing(context);
      if (context.may_download) place = try_fetch(context, why);
      if (place.empty() && params_.fallback) return load_fallback(context);
      if (place.empty()) fail(ErrorKind::data, why, how_to_get(context));
    }
    std::vector<const char*> names = kind_.train;
    names.insert(names.end(), kind_.test.begin(), kind_.test.end());
    names.push_back(kind_.names[size_t(label_)]);
    std::vector<std::string> files = read_cifar_files(kind_, place, names);
    Data data;
    data.meaning() = meaning();
    data.class_names = read_class_names(files.back());
    if (int64_t(data.class_names.size()) != classes_)
      fail(ErrorKind::data, place, ": ", names.back(), " has ", data.class_names.size(), " names, expected ", classes_);
    data.train = records(files, names, 0, kind_.train.size(), place);
    data.test = records(files, names, kind_.train.size(), names.size() - 1, place);
    data.source = place;
    return data;
  }

  DataCheck check(const DataContext& context) const {
    DataCheck out;
    out.meaning() = meaning();
    out.command = cifar_command(kind_, context);
    out.source = find_cifar(kind_, context);
    if (!out.source.empty()) {
      out.found = true;
      out.train_size = kTrainImages;
      out.test_size = kTestImages;
      if (!folder_exists(out.source) || is_pickled_cifar(kind_, out.source)) return out;
      out.train_size = count(out.source, kind_.train);
      out.test_size = count(out.source, kind_.test);
      cifar_file(kind_, out.source, kind_.names[size_t(label_)]);
      return out;
    }
    out.missing = join_path(cifar_folders(kind_, context).front(), kind_.archive);
    out.train_size = kTrainImages;
    out.test_size = kTestImages;
    if (!params_.fallback) return out;
    const DataCheck fallback = params_.fallback->check(context);
    if (!fallback.found && fallback.source.empty()) return out;
    check_fallback(fallback);
    out.source = text(fallback_name(), " in place of ", kind_.name, ": ", fallback.source);
    out.train_size = fallback.train_size;
    out.test_size = fallback.test_size;
    return out;
  }

 private:
  // The records of files first .. last - 1, one after the other.
  Split records(std::vector<std::string>& files, const std::vector<const char*>& names, size_t first, size_t last,
                const std::string& place) const {
    std::vector<Split> parts;
    int64_t n = 0;
    for (size_t i = first; i < last; ++i) {
      const std::string source = text(place, folder_exists(place) ? "/" : ": ", names[i]);
      parts.push_back(read_cifar_records(files[i], kind_.labels, label_, classes_, printable(source)));
      files[i] = {};
      n += parts.back().size();
    }
    Split out{Tensor(DType::u8, Shape{n, 32, 32, 3}), Tensor(DType::i32, {n})};
    auto images = out.inputs.as<uint8_t>().begin();
    auto labels = out.targets.as<int32_t>().begin();
    for (const Split& part : parts) {
      images = std::ranges::copy(part.inputs.as<uint8_t>(), images).out;
      labels = std::ranges::copy(part.targets.as<int32_t>(), labels).out;
    }
    return out;
  }

  int64_t count(const std::string& folder, const std::vector<const char*>& names) const {
    int64_t out = 0;
    for (const char* name : names) {
      const std::string path = cifar_file(kind_, folder, name);
      out += cifar_record_count(file_size(path), kind_.labels, path);
    }
    return out;
  }

  // Without the names of the classes, which are in a file.
  SampleMeaning meaning() const {
    SampleMeaning out;
    out.sample = {3, 32, 32};
    out.channels_last = true;
    out.dtype = DType::u8;
    if (params_.normalize) out.scale_bytes();
    out.classes = classes_;
    return out;
  }

  std::string missing(const DataContext& context) const {
    return text(kind_.name, ": neither ", kind_.archive, " nor its files are in one of ",
                join(cifar_folders(kind_, context), ", "));
  }
  std::string how_to_get(const DataContext& context) const { return "; to get it: " + cifar_command(kind_, context); }

  // "", and the reason added to `why`, when it cannot be had.
  std::string try_fetch(const DataContext& context, std::string& why) const {
    try {
      return fetch_cifar(kind_, context);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data) throw;
      why += text("; ", error.what());
      return "";
    }
  }

  Data load_fallback(const DataContext& context) const {
    Data data = params_.fallback->load(context);
    check_fallback(data);
    data.source = text(fallback_name(), " in place of ", kind_.name, ": ", data.source);
    context.warn_of_stand_in(kind_.name, fallback_name());
    return data;
  }

  std::string fallback_name() const { return params_.fallback.resolved().entries.front().key; }

  void check_fallback(const SampleMeaning& data) const {
    if (data.sample == Shape{3, 32, 32} && data.channels_last && data.classes == classes_) return;
    fail(ErrorKind::config, "fallback ", fallback_name(), ": has samples ", data.sample, " of ", data.classes,
         " classes, those of ", kind_.name, " are RGB images (3, 32, 32) of ", classes_);
  }

  const CifarKind& kind_;
  const CifarParams& params_;
  const int label_;
  const int64_t classes_;
};

class CIFAR10 : public Parametrized<Dataset, Cifar10Params> {
 public:
  using Parametrized::Parametrized;
  Data load(const DataContext& context) const override { return padded(finish(reader().load(context), context)); }
  DataCheck check(const DataContext& context) const override { return padded(finish(reader().check(context))); }

 private:
  CifarReader reader() const { return {cifar10_kind(), params, 0, kCifar10Classes}; }

  // After finish(), which warns of other classes without samples.
  template <typename T>
  T padded(T data) const {
    if (!params.pad_classes || data.classes == 0) return data;
    if constexpr (std::is_same_v<T, Data>) data.padding_classes = kPaddedClasses - data.classes;
    data.classes = kPaddedClasses;
    for (auto k = int64_t(data.class_names.size()); k > 0 && k < kPaddedClasses; ++k)
      data.class_names.push_back(text("padding ", k));
    return data;
  }
};

class CIFAR100 : public Parametrized<Dataset, Cifar100Params> {
 public:
  using Parametrized::Parametrized;
  Data load(const DataContext& context) const override { return finish(reader().load(context), context); }
  DataCheck check(const DataContext& context) const override { return finish(reader().check(context)); }

 private:
  CifarReader reader() const {
    return {cifar100_kind(), params, params.coarse_labels ? 0 : 1, params.coarse_labels ? 20 : 100};
  }
};

NEON_REGISTER(Dataset, CIFAR10, "Small photographs: 50,000 + 10,000 RGB images of 32 x 32, 10 classes.");
NEON_REGISTER(Dataset, CIFAR100, "Small photographs: 50,000 + 10,000 RGB images of 32 x 32, 100 classes in 20 groups.");

}  // namespace

}  // namespace neon
