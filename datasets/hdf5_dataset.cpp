// HDF5 files laid out as for neon's HDF5Iterator: data set 'input' (n, features) with attribute lshape, and 'output'.
// 'output' has attribute nclass if it holds class labels. The optional 'mean' is subtracted.
#include <algorithm>

#include "datasets/array_targets.h"
#include "datasets/channels.h"
#include "datasets/f32_steps.h"
#include "datasets/hdf5_file.h"
#include "datasets/same_file.h"

namespace neon {

namespace {

struct Hdf5Params : ArrayParams {
  std::string train, test;
  TargetArrays targets;
  static void describe(auto&& p) {
    p("train", &Hdf5Params::train, "File with the training samples.", Required{}, Alias{"path"}, Alias{"hdf_filename"});
    p("test", &Hdf5Params::test, "File with the test samples. Without it the set has no test samples.");
    p("targets", &Hdf5Params::targets,
      "Several targets in place of the data set output, each for an output of its own (`outputs` of the spec): names, "
      "and the data sets that have them. Example: {price: price, grade: grade}.");
    ArrayParams::describe(p);
  }
};

// inputs - mean. `mean` has a value per channel, or per element of a sample in the order of the inputs.
Tensor without_mean(const Tensor& inputs, const Tensor& mean, const Shape& sample, bool channels_last,
                    const std::string& path) {
  const int64_t features = sample.elements(), channels = sample[0];
  if (mean.elements() != features && mean.elements() != channels)
    fail(ErrorKind::data, path, ": 'mean' has ", mean.elements(), " values, expected ", channels,
         " (one a channel) or ", features);
  Tensor out = inputs.converted(DType::f32);
  const auto values = out.as<float>();
  const auto means = mean.as<float>();
  const int64_t each = channels_last ? 1 : features / mean.elements();  // neighbours that share a value
  for (size_t i = 0; i < values.size(); ++i) values[i] -= means[i / size_t(each) % means.size()];
  return out;
}

// The same mean for SampleMeaning::subtracted: a number per channel, or per element of a sample as it lies in memory.
// Images lie with channels last there.
std::vector<double> subtracted(Tensor mean, const Shape& sample, bool channels_last) {
  const int64_t features = sample.elements();
  const bool images = sample.rank() == 3, of_elements = mean.elements() == features;
  if (images && of_elements && !channels_last) mean = with_channels_last(mean.reshaped(Shape{1}.concat(sample)));
  std::vector<double> out(size_t(images ? mean.elements() : features));
  for (size_t i = 0; i < out.size(); ++i) out[i] = mean.at(int64_t(i) * mean.elements() / int64_t(out.size()));
  return out;
}

constexpr int64_t kExact = int64_t(1) << 24;  // whole numbers below it are exact in f32

// A split, and the 'mean' that was subtracted from it, f32; empty: none.
struct Hdf5Split : RawSplit {
  Tensor mean;
};

class HDF5 : public Parametrized<Dataset, Hdf5Params> {
 public:
  explicit HDF5(Hdf5Params given) : Parametrized(std::move(given)) { check_one_target_alone(params, params.targets); }

  Data load(const DataContext& context) const override {
    Data data;
    data.source = find_data_file(params.train, context);
    ArrayParams arrays = params;
    const std::string test_path = params.test.empty() ? "" : find_data_file(params.test, context);
    check(data.source, test_path, arrays, output());
    warn_of_same_file(data.source, test_path, "test", context);
    const Hdf5Split train = read(data.source, arrays, output());
    const Hdf5Split test = test_path.empty() ? Hdf5Split{} : read(test_path, arrays, output());
    interpret(arrays, train, test, context, common.autoencoder, data);
    warn_of_steps(data, train, context);
    if (!params.targets.empty()) {
      data.targets = describe_targets(params.targets, params, data, context, reader(data.source));
      data.train.targets = rows_of_targets(data.targets, params.targets, data.train.size(), reader(data.source));
      if (data.test.size() > 0)
        data.test.targets = rows_of_targets(data.targets, params.targets, data.test.size(), reader(test_path));
    }
    if (!train.mean.empty()) data.subtracted = subtracted(train.mean, data.sample, arrays.channels_last);
    // Each file has its own mean or none.
    if (const bool has = !test.mean.empty(); !params.test.empty() && has == train.mean.empty())
      context.warn(text(test_path, has ? ": has a 'mean', " : ": has no 'mean', ", data.source,
                        has ? " has none" : " has one",
                        ": neon subtracts the mean only from samples of the file that has it"));
    return finish(std::move(data), context);
  }

  DataCheck check(const DataContext& context) const override {
    DataCheck out;
    out.source = find_data_file(params.train, context, out.missing);
    if (out.source.empty()) return out;
    if (!params.test.empty() && find_data_file(params.test, context, out.missing).empty()) {
      out.source.clear();
      return out;
    }
    out.missing.clear();
    ArrayParams arrays = params;
    const std::string test_path = params.test.empty() ? "" : find_data_file(params.test, context);
    const auto [train, test] = check(out.source, test_path, arrays, output());
    check_arrays(
        arrays, train, test, context, [&] { return open_hdf5(out.source)->read("output", true); }, common.autoencoder,
        out);
    if (!params.targets.empty()) {
      out.targets = describe_targets(params.targets, params, out, context, reader(out.source));
      out.target = {columns_of(out.targets)};
    }
    return finish(out);
  }

 private:
  // The data set with the only target; "" where the spec names several.
  const char* output() const { return params.targets.empty() ? "output" : ""; }

  // HDF5 gives f32 at once, so that interpret() meets no wider type; whole numbers of targets aside.
  static void warn_of_steps(const Data& data, const Hdf5Split& split, const DataContext& context) {
    const auto opened = open_hdf5(data.source);
    const auto warn = [&](const Tensor& rows, const char* set, const std::string& name) {
      if (rows.dtype() != DType::f32 || !opened->is_wide(set)) return;
      std::vector<std::string> columns;
      for (int64_t k = 0; k < rows.elements() / rows.shape()[0]; ++k) columns.push_back(text("column ", k));
      warn_of_f32_steps(rows, columns, name, context);
    };
    if (data.sample.rank() == 1 && split.mean.empty()) warn(split.inputs, "input", split.inputs_name);
    if (data.classes == 0 && !split.targets.empty() && split.targets.shape().rank() <= 2)
      warn(split.targets, "output", split.targets_name);
  }

  static ReadTarget reader(const std::string& path) {
    return [path](const std::string& name) {
      return std::pair{open_hdf5(path)->read(name.c_str(), true), text(path, ": ", name)};
    };
  }

  static ArrayForm form(const Hdf5File& file, const char* set) {
    if (*set == '\0' || !file.has(set)) return {};
    const Shape shape = file.shape(set);
    const bool bytes = file.is_bytes(set) && !file.has("mean");
    return {file.path() + ": " + set, shape, file.is_floating(set), double(shape.elements()) * file.item(set),
            bytes ? DType::u8 : DType::f32};
  }

  // Checks both files by their headers, and takes from the first of them the parameters that were not given. Returns
  // the forms of the training and the test split; `test` may be "".
  static std::pair<SplitForm, SplitForm> check(const std::string& train, const std::string& test, ArrayParams& arrays,
                                               const char* output) {
    const ArrayParams given = arrays;
    const auto opened = open_hdf5(train);
    const Hdf5File& file = *opened;
    take_attributes(file, arrays);
    const SplitForm first{form(file, "input"), form(file, output)};
    check_mean(file);
    if (test.empty()) {
      check_forms(arrays, first, {});
      return {first, {}};
    }
    const auto opened_test = open_hdf5(test);
    const Hdf5File& other = *opened_test;
    ArrayParams again = given;
    take_attributes(other, again);
    if (again.classes != arrays.classes)
      fail(ErrorKind::data, test, ": output: nclass is ", again.classes, ", but ", arrays.classes, " in ", train);
    check_mean(other);
    const SplitForm second{form(other, "input"), form(other, output)};
    check_forms(arrays, first, second);
    return {first, second};
  }

  // A mean is no larger than a sample.
  static void check_mean(const Hdf5File& file) {
    if (!file.has("mean")) return;
    const Shape inputs = file.shape("input"), mean = file.shape("mean");
    if (mean.elements() > inputs.elements() / std::max<int64_t>(inputs[0], 1))
      fail(ErrorKind::data, file.path(), ": mean: has shape ", mean, ", more values than a sample of input, ", inputs);
  }

  // Parameters that were not given are taken from the file; returns the shape of a sample.
  static Shape take_attributes(const Hdf5File& file, ArrayParams& arrays) {
    if (arrays.lshape.empty()) arrays.lshape = file.attribute("input", "lshape");
    for (int64_t size : arrays.lshape)
      if (size < 1) fail(ErrorKind::data, file.path(), ": attribute lshape of 'input' has the size ", size);
    if (arrays.classes == 0 && !arrays.regression && file.has("output"))
      if (const auto nclass = file.attribute("output", "nclass"); !nclass.empty()) arrays.classes = nclass.front();
    if (arrays.classes < 0 || arrays.classes > (1 << 24))
      fail(ErrorKind::data, file.path(), ": attribute nclass of 'output' is ", arrays.classes);
    return sample_shape(file.shape("input"), arrays, file.path() + ": input");
  }

  static Hdf5Split read(const std::string& path, const ArrayParams& arrays, const char* output) {
    const auto opened = open_hdf5(path);
    const Hdf5File& file = *opened;
    const Shape sample = sample_shape(file.shape("input"), arrays, path + ": input");
    if (arrays.tokens > kExact)
      fail(ErrorKind::config, "tokens: ", arrays.tokens, " is above ", kExact,
           ", up to which numbers of HDF5 files are read exactly; an NPZ file takes it");
    Hdf5Split out{{file.read("input", false), {}, path + ": input", path + ": output"}, {}};
    if (file.has("mean")) {
      out.mean = file.read("mean", false).converted(DType::f32);
      out.inputs = without_mean(out.inputs, out.mean, sample, arrays.channels_last, path);
    }
    if (*output != '\0' && file.has(output)) out.targets = file.read(output, true);
    return out;
  }
};

NEON_REGISTER(Dataset, HDF5, "HDF5 files with the data sets input, output and mean, as neon's HDF5Iterator reads them.",
              {"HDF5Iterator", "HDF5IteratorOneHot", "HDF5IteratorAutoencoder"});

}  // namespace

}  // namespace neon
