// HDF5 files laid out as for neon's HDF5Iterator: data set 'input' (n, features) with attribute lshape,
// 'output' with attribute nclass when it holds class labels, and optionally 'mean', which is subtracted.
#include "datasets/arrays.h"
#include "datasets/channels.h"
#include "datasets/hdf5_file.h"

namespace neon {

namespace {

struct Hdf5Params : ArrayParams {
  std::string train, test;
  static void describe(auto&& p) {
    p("train", &Hdf5Params::train, "File with the training samples.", Required{}, Alias{"path"}, Alias{"hdf_filename"});
    p("test", &Hdf5Params::test, "File with the test samples; none: there is no test set.");
    ArrayParams::describe(p);
  }
};

// inputs - mean, where 'mean' has a value per channel or per element of a sample, which lies as the inputs do.
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

// Such a mean as numbers of Data::subtracted: by element of a sample as it lies in memory, which of images is with
// channels last whatever the file has, or by channel.
std::vector<double> subtracted(Tensor mean, const Shape& sample, bool channels_last) {
  const int64_t features = sample.elements();
  const bool images = sample.rank() == 3, of_elements = mean.elements() == features;
  if (images && of_elements && !channels_last) mean = with_channels_last(mean.reshaped(Shape{1}.concat(sample)));
  std::vector<double> out(size_t(images ? mean.elements() : features));
  for (size_t i = 0; i < out.size(); ++i) out[i] = mean.at(int64_t(i) * mean.elements() / int64_t(out.size()));
  return out;
}

// A split and the 'mean' that it was freed of, f32; empty: none.
struct Hdf5Split : RawSplit {
  Tensor mean;
};

class HDF5 : public Parametrized<Dataset, Hdf5Params> {
 public:
  using Parametrized::Parametrized;

  Data load(const DataContext& context) const override {
    Data data;
    data.source = find_data_file(params.train, context);
    ArrayParams arrays = params;
    const Hdf5Split train = read(data.source, arrays);
    ArrayParams again = params;
    const Hdf5Split test = params.test.empty() ? Hdf5Split{} : read(find_data_file(params.test, context), again);
    if (!params.test.empty() && again.classes != arrays.classes)
      fail(ErrorKind::data, test.targets_name, ": nclass is ", again.classes, ", but ", arrays.classes, " in ",
           data.source);
    interpret(arrays, train, test, data);
    if (!train.mean.empty()) data.subtracted = subtracted(train.mean, data.sample, arrays.channels_last);
    // Each file is read as it says, so one without a mean is not freed of the other's.
    if (const bool has = !test.mean.empty(); !params.test.empty() && has == train.mean.empty())
      context.warn(text(find_data_file(params.test, context), has ? ": has a 'mean', " : ": has no 'mean', ",
                        data.source, has ? " has none" : " has one",
                        ": only samples of the file with it are freed of it"));
    return finish(std::move(data), context);
  }

  DataCheck check(const DataContext& context) const override {
    DataCheck out;
    out.source = find_data_file(params.train, context, out.missing);
    if (out.source.empty()) return out;
    if (!params.test.empty() && find_data_file(params.test, context, out.missing).empty()) return out;
    out.missing.clear();
    out.found = true;
    const Hdf5File file(out.source);
    ArrayParams arrays = params;
    out.sample = take_attributes(file, arrays);
    out.channels_last = out.sample.rank() == 3;
    out.train_size = file.shape("input")[0];
    if (file.is_bytes("input") && !file.has("mean")) out.dtype = DType::u8;
    out.scale = arrays.scale;
    out.shift = arrays.shift;
    if (file.has("output")) out.target = target_shape(file.shape("output"));
    if (file.has("output") && are_labels(file.is_floating("output"), file.shape("output"), arrays))
      out.classes = arrays.classes > 0 ? arrays.classes : count_classes(file.read("output", true), out.source);
    if (!params.test.empty()) {
      const Hdf5File test(find_data_file(params.test, context));
      ArrayParams again = params;
      take_attributes(test, again);
      out.test_size = test.shape("input")[0];
    }
    return finish(out);
  }

 private:
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

  static Hdf5Split read(const std::string& path, ArrayParams& arrays) {
    const Hdf5File file(path);
    const Shape sample = take_attributes(file, arrays);
    Hdf5Split out{{file.read("input", false), {}, path + ": input", path + ": output"}, {}};
    if (file.has("mean")) {
      out.mean = file.read("mean", false).converted(DType::f32);
      out.inputs = without_mean(out.inputs, out.mean, sample, arrays.channels_last, path);
    }
    if (file.has("output")) out.targets = file.read("output", true);
    return out;
  }
};

NEON_REGISTER(Dataset, HDF5, "HDF5 files with data sets input, output and mean, as for neon's HDF5Iterator.",
              {"HDF5Iterator", "HDF5IteratorOneHot", "HDF5IteratorAutoencoder"});

}  // namespace

}  // namespace neon
