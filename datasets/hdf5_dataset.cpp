// HDF5 files laid out as for neon's HDF5Iterator: data set 'input' (n, features) with attribute lshape,
// 'output' with attribute nclass when it holds class labels, and optionally 'mean', which is subtracted.
// A foreign file is not trusted: no links to other files, no external storage, no plug-ins, no file locks.
#include <hdf5.h>

#include <algorithm>

#include "datasets/arrays.h"
#include "datasets/channels.h"
#include "datasets/file.h"

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

// An identifier that is closed; HDF5's own printing of errors is off for as long as one is made.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(Handle&& other) noexcept : id_(other.id_), close_(other.close_) { other.id_ = -1; }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }
  bool good() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// HDF5 prints its error stack to stderr unless told not to; restored when this goes.
class Quiet {
 public:
  Quiet() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Quiet() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

class Hdf5File {
 public:
  explicit Hdf5File(const std::string& path) : path_(path), file_(open(path)) {}

  bool has(const char* name) const { return H5Lexists(file_, name, H5P_DEFAULT) > 0; }

  // The data set's shape; throws when it is missing, or not plainly in this file.
  Shape shape(const char* name) const {
    const Handle set = open_set(name);
    return shape_of(set, name);
  }
  bool is_floating(const char* name) const { return class_of(name) == H5T_FLOAT; }
  bool is_bytes(const char* name) const {
    const Handle set = open_set(name);
    return is_bytes(Handle(H5Dget_type(set), H5Tclose));
  }

  // All of it: bytes as u8, other whole numbers as i64, floats as f32 (f64 where `wide`).
  Tensor read(const char* name, bool labels) const {
    const Handle set = open_set(name);
    const Handle type(H5Dget_type(set), H5Tclose);
    const bool whole = H5Tget_class(type) == H5T_INTEGER;
    const DType dtype = is_bytes(type) && !labels ? DType::u8 : whole && labels ? DType::i64 : DType::f32;
    const hid_t memory = dtype == DType::u8    ? H5T_NATIVE_UINT8
                         : dtype == DType::i64 ? H5T_NATIVE_INT64
                                               : H5T_NATIVE_FLOAT;
    const Shape shape = shape_of(set, name);
    check_stored(set, shape, name);
    Tensor out(dtype, shape);
    if (shape.elements() > 0 && H5Dread(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.data()) < 0)
      fail(ErrorKind::data, path_, ": cannot read '", name,
           "': truncated, corrupt, or compressed by a filter that is not here");
    return out;
  }

  // Whole numbers of an attribute of a data set; empty when there is none.
  std::vector<int64_t> attribute(const char* name, const char* key) const {
    const Handle set = open_set(name);
    if (H5Aexists(set, key) <= 0) return {};
    const Handle attribute(H5Aopen(set, key, H5P_DEFAULT), H5Aclose);
    const Handle space(attribute.good() ? H5Aget_space(attribute) : -1, H5Sclose);
    const hssize_t count = space.good() ? H5Sget_simple_extent_npoints(space) : -1;
    std::vector<int64_t> out(count > 0 && count <= Shape::kMaxRank ? size_t(count) : 0);
    if (out.empty() || H5Aread(attribute, H5T_NATIVE_INT64, out.data()) < 0)
      fail(ErrorKind::data, path_, ": attribute ", key, " of '", name, "' is not 1 to ", Shape::kMaxRank,
           " whole numbers");
    return out;
  }

  const std::string& path() const { return path_; }

 private:
  static bool is_bytes(const Handle& type) {
    return H5Tget_class(type) == H5T_INTEGER && H5Tget_size(type) == 1 && H5Tget_sign(type) == H5T_SGN_NONE;
  }

  static Handle open(const std::string& path) {
    file_size(path);
    H5PLset_loading_state(0);
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_file_locking(access, false, true);
    Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), H5Fclose);
    if (!file.good()) {
      std::string head(512, '\0');
      const FileSource source(path);
      head.resize(size_t(std::min<int64_t>(source.size(), 512)));
      source.read_at(0, head.data(), head.size());
      if (head.starts_with("\x89HDF")) fail(ErrorKind::data, path, ": truncated or corrupt HDF5 file");
      fail(ErrorKind::data, path, ": not an HDF5 file", looks_like_clause(head));
    }
    return file;
  }

  Handle open_set(const char* name) const {
    H5L_info_t link;
    if (!has(name))
      fail(ErrorKind::data, path_, ": has no data set '", name, "': expected 'input' and 'output' as for HDF5Iterator");
    if (H5Lget_info(file_, name, &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD)
      fail(ErrorKind::data, path_, ": '", name, "' is a link to another place, which is not followed");
    Handle set(H5Dopen2(file_, name, H5P_DEFAULT), H5Dclose);
    if (!set.good()) fail(ErrorKind::data, path_, ": '", name, "' is not a data set");
    const Handle plist(H5Dget_create_plist(set), H5Pclose);
    if (H5Pget_layout(plist) == H5D_VIRTUAL || H5Pget_external_count(plist) > 0)
      fail(ErrorKind::data, path_, ": '", name, "' keeps its elements in other files, which are not read");
    const Handle type(H5Dget_type(set), H5Tclose);
    const H5T_class_t kind = H5Tget_class(type);
    if ((kind != H5T_INTEGER && kind != H5T_FLOAT) || H5Tget_size(type) > 8)
      fail(ErrorKind::data, path_, ": '", name, "' does not hold whole numbers or floats of at most 64 bits");
    return set;
  }

  H5T_class_t class_of(const char* name) const {
    const Handle set = open_set(name);
    const Handle type(H5Dget_type(set), H5Tclose);
    return H5Tget_class(type);
  }

  Shape shape_of(hid_t set, const char* name) const {
    const Handle space(H5Dget_space(set), H5Sclose);
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 0 || rank > Shape::kMaxRank)
      fail(ErrorKind::data, path_, ": '", name, "' has ", rank, " axes, at most 8 are read");
    hsize_t sizes[Shape::kMaxRank] = {};
    H5Sget_simple_extent_dims(space, sizes, nullptr);
    std::vector<int64_t> out;
    int64_t elements = 1;
    for (int axis = 0; axis < rank; ++axis) {
      if (sizes[axis] > hsize_t(INT64_MAX) ||
          __builtin_mul_overflow(elements, std::max<int64_t>(1, int64_t(sizes[axis])), &elements) ||
          elements > (int64_t(1) << 59))
        fail(ErrorKind::data, path_, ": '", name, "' declares more elements than any file can hold");
      out.push_back(int64_t(sizes[axis]));
    }
    return Shape(out);
  }

  // A few bytes can declare a data set of terabytes that was never written; do not ask memory for that.
  void check_stored(hid_t set, const Shape& shape, const char* name) const {
    const auto stored = int64_t(H5Dget_storage_size(set));
    const Handle type(H5Dget_type(set), H5Tclose);
    const int64_t needed = shape.elements() * int64_t(H5Tget_size(type));
    if (needed > 0 && (stored == 0 || stored < needed / 1100))
      fail(ErrorKind::data, path_, ": '", name, "' declares ", needed, " bytes but only ", stored,
           " were ever written");
  }

  std::string path_;
  Quiet quiet_;
  Handle file_;
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

class HDF5 : public Parametrized<Dataset, Hdf5Params> {
 public:
  using Parametrized::Parametrized;

  Data load(const DataContext& context) const override {
    Data data;
    data.source = find_data_file(params.train, context);
    ArrayParams arrays = params;
    const RawSplit train = read(data.source, arrays);
    ArrayParams again = params;
    const RawSplit test = params.test.empty() ? RawSplit{} : read(find_data_file(params.test, context), again);
    if (!params.test.empty() && again.classes != arrays.classes)
      fail(ErrorKind::data, test.targets_name, ": nclass is ", again.classes, ", but ", arrays.classes, " in ",
           data.source);
    interpret(arrays, train, test, data);
    if (const Hdf5File file(data.source); file.has("mean"))
      data.subtracted = subtracted(file.read("mean", false).converted(DType::f32), data.sample, arrays.channels_last);
    warn_of_other_means(data, context);
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

  // Each file is read as it says, so one without a mean is not freed of the other's.
  void warn_of_other_means(const Data& data, const DataContext& context) const {
    if (params.test.empty()) return;
    const std::string test = find_data_file(params.test, context);
    if (const bool has = Hdf5File(test).has("mean"); has == data.subtracted.empty())
      context.warn(text(test, has ? ": has a 'mean', " : ": has no 'mean', ", data.source,
                        has ? " has none" : " has one", ": only samples of the file with it are freed of it"));
  }

  static RawSplit read(const std::string& path, ArrayParams& arrays) {
    const Hdf5File file(path);
    const Shape sample = take_attributes(file, arrays);
    RawSplit out{file.read("input", false), {}, path + ": input", path + ": output"};
    if (file.has("mean"))
      out.inputs =
          without_mean(out.inputs, file.read("mean", false).converted(DType::f32), sample, arrays.channels_last, path);
    if (file.has("output")) out.targets = file.read("output", true);
    return out;
  }
};

NEON_REGISTER(Dataset, HDF5, "HDF5 files with data sets input, output and mean, as for neon's HDF5Iterator.",
              {"HDF5Iterator", "HDF5IteratorOneHot", "HDF5IteratorAutoencoder"});

}  // namespace

}  // namespace neon
