// Metrics files of neon 1.x: written by h5py, with texts and numbers of other types, chunked or compressed pictures,
// and zeros where the run did not come.
#include <algorithm>
#include <cmath>

#include "datasets/hdf5_handle.h"
#include "neon/core/error.h"
#include "neon/train/metrics_hdf5.h"

namespace neon {

namespace {

constexpr int kDeepest = 8;
constexpr size_t kMostOfFile = 1'000'000;             // objects
constexpr uint64_t kMostNumbers = uint64_t(1) << 27;  // of a series
constexpr uint64_t kMostPixels = uint64_t(1) << 28;   // of all pictures
constexpr const char* kDeconv = "deconv/";

class OldReader {
 public:
  explicit OldReader(const std::string& path) : path_(path) {}

  MetricsContents read() {
    const Hdf5Handle file = open();
    Hdf5Handle root(H5Gopen2(file, "/", H5P_DEFAULT), H5Gclose);
    need(root, "root");
    read_group(root, "", 0);
    finish();
    return std::move(out_);
  }

  // Such a file has the length of its run, and no status.
  bool is_old() {
    Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_file_locking(access, false, true);
    Hdf5Handle file(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, access), H5Fclose);
    return file >= 0 && H5Aexists(file, "status") == 0 && H5Lexists(file, "config", H5P_DEFAULT) > 0 &&
           H5Aexists_by_name(file, "config", "total_minibatches", H5P_DEFAULT) > 0;
  }

 private:
  Hdf5Handle open() const {
    Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_file_locking(access, false, true);
    Hdf5Handle file(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, access), H5Fclose);
    need(file, "file");
    return file;
  }
  void need(int64_t result, const std::string& what) const {
    if (result < 0) fail(ErrorKind::data, path_, ": ", what, ": HDF5 cannot read it; the file is damaged");
  }

  void read_group(hid_t group, const std::string& path, int depth) {
    if (depth > kDeepest) fail(ErrorKind::data, path_, ": groups are nested more than ", kDeepest, " deep");
    for (auto& [name, value] : attributes_of(group)) out_.attributes.push_back({path, name, std::move(value)});
    H5G_info_t info;
    need(H5Gget_info(group, &info), path);
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      if (++objects_ > kMostOfFile) fail(ErrorKind::data, path_, ": it has too many objects");
      char name[1024];
      const ssize_t length =
          H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT);
      H5L_info_t link;
      if (length < 0 || length >= ssize_t(sizeof name) || H5Lget_info(group, name, &link, H5P_DEFAULT) < 0 ||
          link.type != H5L_TYPE_HARD)
        continue;
      read_object(group, name, path.empty() ? name : text(path, '/', std::string_view(name)), depth);
    }
  }

  void read_object(hid_t group, const char* name, const std::string& full, int depth) {
    Hdf5Handle object(H5Oopen(group, name, H5P_DEFAULT), H5Oclose);
    need(object, full);
    const H5I_type_t type = H5Iget_type(object);
    if (type == H5I_GROUP) read_group(object, full, depth + 1);
    if (type != H5I_DATASET) return;
    Hdf5Handle creation(H5Dget_create_plist(object), H5Pclose);
    if (H5Pget_external_count(creation) != 0 || H5Pget_layout(creation) == H5D_VIRTUAL) return;  // of another file
    Hdf5Handle space(H5Dget_space(object), H5Sclose);
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 1 || rank > 4) return;
    hsize_t dims[4] = {1, 1, 1, 1};
    need(H5Sget_simple_extent_dims(space, dims, nullptr), full);
    uint64_t count = 1;
    for (const hsize_t axis : dims)
      if (__builtin_mul_overflow(count, uint64_t(axis), &count)) return;
    if (rank == 4 && full.starts_with(kDeconv)) read_pictures(object, full, dims, count);
    if (rank <= 2 && count <= kMostNumbers) read_series(object, full, dims, rank, count);
  }

  void read_pictures(hid_t data, const std::string& path, const hsize_t* dims, uint64_t count) {
    Hdf5Handle type(H5Dget_type(data), H5Tclose);
    if (H5Tget_class(type) != H5T_INTEGER || H5Tget_size(type) != 1 || count > kMostPixels - pixels_) return;
    pixels_ += count;
    StoredPictures stored{path, {dims[0], dims[1], dims[2], dims[3]}, std::string(count, '\0')};
    if (count > 0) need(H5Dread(data, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, stored.bytes.data()), path);
    out_.pictures.push_back(std::move(stored));
  }

  void read_series(hid_t data, const std::string& path, const hsize_t* dims, int rank, uint64_t count) {
    Hdf5Handle type(H5Dget_type(data), H5Tclose);
    const H5T_class_t kind = H5Tget_class(type);
    if (kind != H5T_INTEGER && kind != H5T_FLOAT) return;
    StoredSeries stored;
    SeriesSpec& spec = stored.spec;
    spec.path = path;
    spec.dtype = kind == H5T_INTEGER ? DType::i32 : H5Tget_size(type) > 4 ? DType::f64 : DType::f32;
    for (const auto& [name, value] : attributes_of(data)) {
      const auto* content = std::get_if<std::string>(&value);
      const auto* whole = std::get_if<int64_t>(&value);
      if (content && name == "units") spec.units = *content;
      if (content && name == "time_markers") spec.time_markers = *content;
      if (whole && name == "epoch_freq") spec.epoch_freq = std::max<int64_t>(*whole, 1);
    }
    spec.columns = path.starts_with("hist/") && rank == 2;
    spec.length = int64_t(dims[spec.columns ? 1 : 0]);
    spec.width = int64_t(dims[spec.columns ? 0 : 1]);
    stored.values.resize(count);
    if (count > 0) need(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, stored.values.data()), path);
    out_.series.push_back(std::move(stored));
  }

  std::vector<std::pair<std::string, AttributeValue>> attributes_of(hid_t owner) {
    std::vector<std::pair<std::string, AttributeValue>> out;
    H5O_info_t info;
    need(H5Oget_info2(owner, &info, H5O_INFO_NUM_ATTRS), "attributes");
    for (hsize_t i = 0; i < info.num_attrs; ++i) {
      Hdf5Handle attribute(H5Aopen_by_idx(owner, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT),
                           H5Aclose);
      char name[1024];
      need(attribute, "attributes");
      if (const ssize_t length = H5Aget_name(attribute, sizeof name, name);
          length < 0 || length >= ssize_t(sizeof name))
        continue;
      if (AttributeValue value; read_value(attribute, value)) out.emplace_back(name, std::move(value));
    }
    return out;
  }

  // False for an attribute that is neither a number nor a text.
  bool read_value(hid_t attribute, AttributeValue& to) {
    Hdf5Handle type(H5Aget_type(attribute), H5Tclose), space(H5Aget_space(attribute), H5Sclose);
    if (H5Sget_simple_extent_npoints(space) != 1) return false;
    const H5T_class_t kind = H5Tget_class(type);
    if (kind == H5T_INTEGER) {
      int64_t value = 0;
      to = value;
      return H5Aread(attribute, H5T_NATIVE_INT64, &std::get<int64_t>(to)) >= 0;
    }
    if (kind == H5T_FLOAT) {
      to = 0.0;
      return H5Aread(attribute, H5T_NATIVE_DOUBLE, &std::get<double>(to)) >= 0;
    }
    if (kind != H5T_STRING) return false;
    std::string content;
    if (H5Tis_variable_str(type) > 0) {
      char* bytes = nullptr;
      if (H5Aread(attribute, type, &bytes) < 0) return false;
      content = bytes ? bytes : "";
      H5free_memory(bytes);
    } else {
      content.resize(H5Tget_size(type));
      if (H5Aread(attribute, type, content.data()) < 0) return false;
      content.resize(std::min(content.find('\0'), content.size()));
    }
    to = std::move(content);
    return true;
  }

  int64_t whole(const char* owner, const char* name) const {
    const AttributeValue* const value = out_.find(owner, name);
    const auto* const number = value ? std::get_if<int64_t>(value) : nullptr;
    return number ? *number : 0;
  }

  // Adds the facts that neon's own files have: the axis of each series, blanks where the run has not come, a status.
  void finish() {
    const int64_t epochs = whole("time_markers", "epochs_complete"),
                  steps = whole("time_markers", "minibatches_complete");
    const AttributeValue* const markers = out_.find("hist", "time_markers");
    const bool by_step = markers && *markers == AttributeValue("minibatch");
    for (StoredSeries& stored : out_.series) {
      SeriesSpec& spec = stored.spec;
      if (spec.path.starts_with("hist/")) {
        spec.x = by_step ? "minibatch" : "epoch";
        continue;
      }
      if (spec.path == "time_markers/minibatch") spec.x = "epoch";
      if (spec.path.starts_with("time/") && spec.axis().empty()) take_axis_of_cost(spec);
      const int64_t reached = spec.axis() == "minibatch" ? steps
                              : spec.axis() == "epoch"   ? epochs / spec.epoch_freq
                                                         : -1;
      if (reached < 0) continue;
      for (size_t i = size_t(reached * spec.width); i < stored.values.size(); ++i) stored.values[i] = std::nan("");
    }
    const bool whole_run = epochs > 0 && epochs == whole("config", "total_epochs");
    out_.attributes.push_back({"", "status", std::string(whole_run ? "complete" : "killed")});
    out_.attributes.push_back({"", "version", std::string("1.x")});
  }

  // The times of evaluations, /time/loss, have the length of /cost/loss and no attributes.
  void take_axis_of_cost(SeriesSpec& spec) {
    const StoredSeries* const cost = out_.find("cost/" + spec.path.substr(5));
    if (!cost || cost->spec.length != spec.length) return;
    spec.time_markers = cost->spec.time_markers, spec.epoch_freq = cost->spec.epoch_freq;
    if (spec.units.empty()) spec.units = "seconds";
  }

  const std::string path_;
  size_t objects_ = 0;
  uint64_t pixels_ = 0;
  MetricsContents out_;
};

}  // namespace

bool is_old_metrics_file(const std::string& path) {
  const QuietHdf5 quiet;
  return OldReader(path).is_old();
}

MetricsContents read_old_metrics_hdf5(const std::string& path) {
  const QuietHdf5 quiet;
  return OldReader(path).read();
}

}  // namespace neon
