#include "neon/train/metrics_hdf5.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "datasets/hdf5_handle.h"
#include "neon/core/error.h"
#include "neon/core/random.h"

namespace neon {

namespace {

// The innermost entry of the error stack says what really happened.
std::string hdf5_message() {
  std::string out = "unknown error";
  const auto take = [](unsigned, const H5E_error2_t* error, void* to) -> herr_t {
    *static_cast<std::string*>(to) = error->desc;
    return 1;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take, &out);
  return out;
}

// `doing` begins the message: "cannot lay out the metrics file: series cost/train".
template <typename T>
T checked(T result, ErrorKind kind, const std::string& doing) {
  if (result < 0) fail(kind, doing, ": HDF5 says: ", hdf5_message());
  return result;
}

hid_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return H5T_IEEE_F32LE;
    case DType::f64: return H5T_IEEE_F64LE;
    case DType::i32: return H5T_STD_I32LE;
    default: fail(ErrorKind::config, "a series of the metrics file is f32, f64 or i32, not ", dtype);
  }
}

// ---- making --------------------------------------------------------------------------------------

class Maker {
 public:
  // Numbers and the status are first written as patterns drawn with `salt`, found in the image, and then
  // set in it: HDF5 tells where a data set is, but not where an attribute is.
  Maker(const std::vector<SeriesSpec>& series, const std::vector<AttributeSpec>& attributes, int salt)
      : series_(series), attributes_(attributes), salt_(salt) {}

  // False when a pattern also stands somewhere else.
  bool make(MetricsImage& out) {
    Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    // In memory: the disk is written by code that can handle a full one.
    check(H5Pset_fapl_core(access, size_t(1) << 20, false), "memory");
    // A value never straddles two pages, so no reader sees half of one.
    check(H5Pset_alignment(access, 1, 64), "alignment");
    Hdf5Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
    check(H5Pset_obj_track_times(creation, false), "times");
    file_ = check(H5Fcreate("metrics", H5F_ACC_TRUNC, creation, access), "file");
    Hdf5Handle file(file_, H5Fclose);
    for (const SeriesSpec& spec : series_) out.series.push_back(add_series(spec));
    for (size_t i = 0; i < attributes_.size(); ++i) add_attribute(attributes_[i], pattern(i));
    add_text(Hdf5Handle(check(H5Oopen(file_, "/", H5P_DEFAULT), "root"), H5Oclose), "status", status_pattern());
    take_image(out);
    return find_numbers(out);
  }

 private:
  template <typename T>
  T check(T result, const std::string& what) {
    return checked(result, ErrorKind::failed, "cannot lay out the metrics file: " + what);
  }

  int64_t pattern(size_t index) const { return int64_t(hash_name(text("metrics attribute ", salt_, ' ', index))); }
  std::string status_pattern() const { return text(hash_name(text("status ", salt_)) % 90'000'000 + 10'000'000); }

  size_t add_series(const SeriesSpec& spec) {
    const std::string what = "series " + spec.path;
    const hsize_t length = hsize_t(spec.length), width = hsize_t(spec.width);
    const hsize_t dims[2] = {spec.columns ? width : length, spec.columns ? length : width};
    Hdf5Handle space(check(H5Screate_simple(spec.columns || width > 1 ? 2 : 1, dims, nullptr), what), H5Sclose);
    Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose), links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const int32_t zero = 0;
    if (is_floating(spec.dtype)) check(H5Pset_fill_value(creation, H5T_NATIVE_DOUBLE, &nan), what);
    else check(H5Pset_fill_value(creation, H5T_NATIVE_INT32, &zero), what);
    check(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY), what);
    check(H5Pset_fill_time(creation, H5D_FILL_TIME_ALLOC), what);
    check(H5Pset_obj_track_times(creation, false), what);
    check(H5Pset_create_intermediate_group(links, 1), what);
    Hdf5Handle data(
        check(H5Dcreate2(file_, spec.path.c_str(), type_of(spec.dtype), space, links, creation, H5P_DEFAULT), what),
        H5Dclose);
    add_text(data, "units", spec.units);
    add_text(data, "x", spec.axis());
    if (!spec.time_markers.empty()) add_text(data, "time_markers", spec.time_markers);
    if (spec.columns || width > 1) add_number(data, "point_axis", H5T_NATIVE_INT64, spec.columns);
    if (spec.axis() == "epoch") add_number(data, "epoch_freq", H5T_NATIVE_INT64, spec.epoch_freq);
    if (spec.axis() == "minibatch") add_number(data, "minibatch_freq", H5T_NATIVE_INT64, spec.minibatch_freq);
    if (spec.values() == 0) return kNowhere;
    const haddr_t offset = H5Dget_offset(data);
    if (offset == HADDR_UNDEF)
      fail(ErrorKind::failed, "cannot lay out the metrics file: ", what, " has no place in it");
    return size_t(offset);
  }

  void add_attribute(const AttributeSpec& spec, int64_t number) {
    const std::string path = make_owner(spec.owner);
    Hdf5Handle owner(check(H5Oopen(file_, path.c_str(), H5P_DEFAULT), "group " + path), H5Oclose);
    if (const auto* content = std::get_if<std::string>(&spec.value)) return add_text(owner, spec.name, *content);
    add_number(owner, spec.name, std::holds_alternative<int64_t>(spec.value) ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE,
               number);
  }

  // Groups on the way to an owner that is not there yet.
  std::string make_owner(const std::string& owner) {
    std::string path = "/";
    for (size_t from = 0; from < owner.size();) {
      const size_t slash = std::min(owner.find('/', from), owner.size());
      if (path.size() > 1) path += '/';
      path += owner.substr(from, slash - from);
      if (check(H5Lexists(file_, path.c_str(), H5P_DEFAULT), path) == 0)
        Hdf5Handle(check(H5Gcreate2(file_, path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), path), H5Gclose);
      from = slash + 1;
    }
    return path;
  }

  // A UTF-8 text of variable length: what h5py itself writes, and reads as str.
  void add_text(hid_t owner, const std::string& name, const std::string& content) {
    const std::string what = "attribute " + name;
    if (content.find('\0') != std::string::npos)
      fail(ErrorKind::failed, "cannot lay out the metrics file: ", what, " has a zero byte in its text");
    Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose), type(H5Tcopy(H5T_C_S1), H5Tclose);
    check(H5Tset_size(type, H5T_VARIABLE), what);
    check(H5Tset_cset(type, H5T_CSET_UTF8), what);
    Hdf5Handle attribute(check(H5Acreate2(owner, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), what), H5Aclose);
    const char* bytes = content.c_str();
    check(H5Awrite(attribute, type, &bytes), what);
  }

  void add_number(hid_t owner, const std::string& name, hid_t type, int64_t bits) {
    Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    Hdf5Handle attribute(
        check(H5Acreate2(owner, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), "attribute " + name), H5Aclose);
    check(H5Awrite(attribute, type, &bits), "attribute " + name);
  }

  void take_image(MetricsImage& out) {
    check(H5Fflush(file_, H5F_SCOPE_GLOBAL), "flush");
    out.bytes.resize(size_t(check(H5Fget_file_image(file_, nullptr, 0), "size")));
    check(H5Fget_file_image(file_, out.bytes.data(), out.bytes.size()), "image");
  }

  bool find_numbers(MetricsImage& out) const {
    out.status = find_once(out.bytes, status_pattern().data());
    if (out.status == kNowhere) return false;
    std::memcpy(out.bytes.data() + out.status, "running\0", kStatusBytes);
    for (size_t i = 0; i < attributes_.size(); ++i) {
      out.attributes.push_back(kNowhere);
      if (std::holds_alternative<std::string>(attributes_[i].value)) continue;
      const int64_t wanted = pattern(i);
      const size_t at = out.attributes[i] = find_once(out.bytes, &wanted);
      if (at == kNowhere) return false;
      if (const auto* whole = std::get_if<int64_t>(&attributes_[i].value)) std::memcpy(&out.bytes[at], whole, 8);
      if (const auto* real = std::get_if<double>(&attributes_[i].value)) std::memcpy(&out.bytes[at], real, 8);
    }
    return true;
  }

  // Where the 8 bytes stand, if that is in one place only.
  static size_t find_once(const std::vector<std::byte>& in, const void* wanted) {
    const auto* begin = in.data();
    const auto* found = static_cast<const std::byte*>(memmem(begin, in.size(), wanted, 8));
    if (!found) return kNowhere;
    const size_t at = size_t(found - begin);
    return memmem(found + 1, in.size() - at - 1, wanted, 8) ? kNowhere : at;
  }

  const std::vector<SeriesSpec>& series_;
  const std::vector<AttributeSpec>& attributes_;
  const int salt_;
  hid_t file_ = -1;
};

// ---- reading -------------------------------------------------------------------------------------

constexpr int kMaxDepth = 8;
constexpr size_t kMaxObjects = 1'000'000;

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  MetricsContents read() {
    Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    check(H5Pset_file_locking(access, false, true), "locking");
    Hdf5Handle file(check(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, access), "file"), H5Fclose);
    check(H5Fget_filesize(file, &file_bytes_), "file");
    Hdf5Handle root(check(H5Gopen2(file, "/", H5P_DEFAULT), "root"), H5Gclose);
    read_group(root, "", 0);
    if (!out_.find("", "status")) not_ours("it has no status");
    return std::move(out_);
  }

 private:
  template <typename T>
  T check(T result, const std::string& what) {
    return checked(result, ErrorKind::data, text(path_, ": ", what));
  }
  [[noreturn]] void not_ours(const std::string& what) {
    fail(ErrorKind::data, path_, ": ", what, "; this is not a metrics file that neon wrote, or it is damaged");
  }

  void read_group(hid_t group, const std::string& path, int depth) {
    if (depth > kMaxDepth) not_ours(text("groups are nested more than ", kMaxDepth, " deep"));
    for (auto& [name, value] : read_attributes(group)) out_.attributes.push_back({path, name, std::move(value)});
    H5G_info_t info;
    check(H5Gget_info(group, &info), path);
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      if (++objects_ > kMaxObjects) not_ours("it has too many objects");
      read_link(group, path, i, depth);
    }
  }

  void read_link(hid_t group, const std::string& path, hsize_t index, int depth) {
    char name[1024];
    const ssize_t length =
        H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, index, name, sizeof name, H5P_DEFAULT);
    if (check(length, path) >= ssize_t(sizeof name)) not_ours("a name is too long");
    const std::string full = path.empty() ? name : text(path, '/', std::string_view(name));
    H5L_info_t link;
    check(H5Lget_info(group, name, &link, H5P_DEFAULT), full);
    if (link.type != H5L_TYPE_HARD) not_ours(full + " is a link to elsewhere");
    Hdf5Handle object(check(H5Oopen(group, name, H5P_DEFAULT), full), H5Oclose);
    const H5I_type_t type = H5Iget_type(object);
    if (type == H5I_GROUP) read_group(object, full, depth + 1);
    else if (type == H5I_DATASET) read_series(object, full);
    else not_ours(full + " is neither a group nor a data set");
  }

  void read_series(hid_t data, const std::string& path) {
    StoredSeries stored;
    SeriesSpec& spec = stored.spec;
    spec.path = path;
    for (auto& [name, value] : read_attributes(data)) take_attribute(spec, name, value);
    Hdf5Handle type(check(H5Dget_type(data), path), H5Tclose), space(check(H5Dget_space(data), path), H5Sclose);
    Hdf5Handle creation(check(H5Dget_create_plist(data), path), H5Pclose);
    if (H5Tequal(type, H5T_IEEE_F32LE) > 0) spec.dtype = DType::f32;
    else if (H5Tequal(type, H5T_IEEE_F64LE) > 0) spec.dtype = DType::f64;
    else if (H5Tequal(type, H5T_STD_I32LE) > 0) spec.dtype = DType::i32;
    else not_ours(path + " is not of f32, f64 or i32");
    const int rank = check(H5Sget_simple_extent_ndims(space), path);
    hsize_t dims[2] = {1, 1};
    if (rank < 1 || rank > 2) not_ours(text(path, " has ", rank, " axes"));
    check(H5Sget_simple_extent_dims(space, dims, nullptr), path);
    uint64_t bytes = size_of(spec.dtype);
    const bool fits =
        !__builtin_mul_overflow(bytes, dims[0], &bytes) && !__builtin_mul_overflow(bytes, dims[1], &bytes);
    if (H5Pget_external_count(creation) != 0) not_ours(path + " keeps its numbers in another file");
    if (!fits || bytes > file_bytes_ || H5Pget_layout(creation) != H5D_CONTIGUOUS ||
        (bytes && H5Dget_storage_size(data) != bytes))
      not_ours(path + " is not laid out as one block");
    if (rank == 1) spec.columns = false;
    spec.length = int64_t(dims[spec.columns ? 1 : 0]);
    spec.width = int64_t(dims[spec.columns ? 0 : 1]);
    stored.values.resize(dims[0] * dims[1]);
    if (!stored.values.empty())
      check(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, stored.values.data()), path);
    out_.series.push_back(std::move(stored));
  }

  static void take_attribute(SeriesSpec& spec, const std::string& name, const AttributeValue& value) {
    if (const auto* content = std::get_if<std::string>(&value)) {
      if (name == "units") spec.units = *content;
      if (name == "x") spec.x = *content;
      if (name == "time_markers") spec.time_markers = *content;
    } else if (const auto* whole = std::get_if<int64_t>(&value)) {
      if (name == "epoch_freq") spec.epoch_freq = *whole;
      if (name == "minibatch_freq") spec.minibatch_freq = *whole;
      if (name == "point_axis") spec.columns = *whole == 1;
    }
  }

  std::vector<std::pair<std::string, AttributeValue>> read_attributes(hid_t owner) {
    std::vector<std::pair<std::string, AttributeValue>> out;
    H5O_info_t info;
    check(H5Oget_info2(owner, &info, H5O_INFO_NUM_ATTRS), "attributes");
    for (hsize_t i = 0; i < info.num_attrs; ++i) {
      Hdf5Handle attribute(
          check(H5Aopen_by_idx(owner, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT), "attributes"),
          H5Aclose);
      char name[1024];
      if (check(H5Aget_name(attribute, sizeof name, name), "attributes") >= ssize_t(sizeof name))
        not_ours("an attribute's name is too long");
      out.emplace_back(name, read_value(attribute, name));
    }
    return out;
  }

  AttributeValue read_value(hid_t attribute, const std::string& name) {
    Hdf5Handle type(check(H5Aget_type(attribute), name), H5Tclose),
        space(check(H5Aget_space(attribute), name), H5Sclose);
    if (H5Sget_simple_extent_npoints(space) != 1) not_ours("attribute " + name + " is not one value");
    if (H5Tequal(type, H5T_STD_I64LE) > 0) {
      int64_t value = 0;
      check(H5Aread(attribute, H5T_NATIVE_INT64, &value), name);
      return value;
    }
    if (H5Tequal(type, H5T_IEEE_F64LE) > 0) {
      double value = 0;
      check(H5Aread(attribute, H5T_NATIVE_DOUBLE, &value), name);
      return value;
    }
    if (H5Tis_variable_str(type) <= 0) not_ours("attribute " + name + " is neither a text nor a number of 8 bytes");
    char* bytes = nullptr;
    check(H5Aread(attribute, type, &bytes), name);
    std::string value = bytes ? bytes : "";
    H5free_memory(bytes);
    return value;
  }

  std::string path_;
  hsize_t file_bytes_ = 0;
  size_t objects_ = 0;
  MetricsContents out_;
};

MetricsImage make_image(const std::vector<SeriesSpec>& series, const std::vector<AttributeSpec>& attributes) {
  const QuietHdf5 quiet;
  for (int salt = 0; salt < 16; ++salt) {
    MetricsImage out;
    if (Maker(series, attributes, salt).make(out)) return out;
  }
  fail(ErrorKind::failed, "cannot lay out the metrics file: its numbers look like its texts");
}

MetricsContents read_contents(const std::string& path) {
  const QuietHdf5 quiet;
  return Reader(path).read();
}

const PartRegistration<MetricsPart> metrics_part({make_image, read_contents, is_old_metrics_file,
                                                  read_old_metrics_hdf5},
                                                 NEON_MODULE_VERSION);

}  // namespace

}  // namespace neon
