#include "datasets/hdf5_file.h"

#include <algorithm>

#include "datasets/file.h"
#include "datasets/hdf5_handle.h"

namespace neon {

namespace {

Hdf5Handle open_file(const std::string& path) {
  file_size(path);
  H5PLset_loading_state(0);
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_file_locking(access, false, true);
  Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), H5Fclose);
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

Hdf5Handle type_of(hid_t set) { return {H5Dget_type(set), H5Tclose}; }

// As h5py writes NumPy's bool: an enumeration of bytes, FALSE 0 and TRUE 1.
bool is_bool(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
  int8_t no = -1, yes = -1;
  return H5Tenum_valueof(type, "FALSE", &no) >= 0 && H5Tenum_valueof(type, "TRUE", &yes) >= 0 && no == 0 && yes == 1;
}

bool is_byte(hid_t type) {
  return H5Tget_class(type) == H5T_INTEGER && H5Tget_size(type) == 1 && H5Tget_sign(type) == H5T_SGN_NONE;
}

class OpenedHdf5 : public Hdf5File {
 public:
  explicit OpenedHdf5(const std::string& path) : Hdf5File(path), file_(open_file(path)) {}
  bool has(const char* set) const override { return H5Lexists(file_, set, H5P_DEFAULT) > 0; }
  Shape shape(const char* set) const override { return shape_of(open_set(set), set); }
  bool is_floating(const char* set) const override { return H5Tget_class(type_of(open_set(set))) == H5T_FLOAT; }
  bool is_bytes(const char* set) const override {
    const Hdf5Handle type = type_of(open_set(set));
    return is_byte(type) || is_bool(type);
  }
  bool is_wide(const char* set) const override {
    const Hdf5Handle type = type_of(open_set(set));
    return H5Tget_size(type) >= (H5Tget_class(type) == H5T_FLOAT ? 8 : 4);
  }
  Tensor read(const char* set, bool labels) const override;
  std::vector<int64_t> attribute(const char* set, const char* key) const override;

 private:
  Hdf5Handle open_set(const char* name) const;
  Shape shape_of(hid_t set, const char* name) const;
  void check_chunks(hid_t set, const Shape& shape, const char* name) const;

  QuietHdf5 quiet_;
  Hdf5Handle file_;
};

Tensor OpenedHdf5::read(const char* name, bool labels) const {
  const Hdf5Handle set = open_set(name), type = type_of(set);
  const bool whole = H5Tget_class(type) == H5T_INTEGER, truth = is_bool(type);
  const DType dtype = truth || (is_byte(type) && !labels) ? DType::u8 : whole && labels ? DType::i64 : DType::f32;
  const hid_t memory = truth                 ? hid_t(type)  // the bytes as they are
                       : dtype == DType::u8  ? H5T_NATIVE_UINT8
                       : dtype == DType::i64 ? H5T_NATIVE_INT64
                                             : H5T_NATIVE_FLOAT;
  const Shape shape = shape_of(set, name);
  check_chunks(set, shape, name);
  Tensor out(dtype, shape);
  if (shape.elements() > 0 && H5Dread(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.data()) < 0)
    fail(ErrorKind::data, path_, ": cannot read '", name,
         "': truncated, corrupt, or compressed by a filter that is not here");
  if (truth)
    for (uint8_t& value : out.as<uint8_t>()) value = value != 0;
  return out;
}

std::vector<int64_t> OpenedHdf5::attribute(const char* name, const char* key) const {
  const Hdf5Handle set = open_set(name);
  if (H5Aexists(set, key) <= 0) return {};
  const Hdf5Handle attribute(H5Aopen(set, key, H5P_DEFAULT), H5Aclose);
  const Hdf5Handle space(attribute.good() ? H5Aget_space(attribute) : -1, H5Sclose);
  const hssize_t count = space.good() ? H5Sget_simple_extent_npoints(space) : -1;
  std::vector<int64_t> out(count > 0 && count <= Shape::kMaxRank ? size_t(count) : 0);
  if (out.empty() || H5Aread(attribute, H5T_NATIVE_INT64, out.data()) < 0)
    fail(ErrorKind::data, path_, ": attribute ", key, " of '", name, "' is not 1 to ", Shape::kMaxRank,
         " whole numbers");
  return out;
}

Hdf5Handle OpenedHdf5::open_set(const char* name) const {
  H5L_info_t link;
  if (!has(name))
    fail(ErrorKind::data, path_, ": has no data set '", name, "': expected 'input' and 'output' as for HDF5Iterator");
  if (H5Lget_info(file_, name, &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD)
    fail(ErrorKind::data, path_, ": '", name, "' is a link to another place, which is not followed");
  Hdf5Handle set(H5Dopen2(file_, name, H5P_DEFAULT), H5Dclose);
  if (!set.good()) fail(ErrorKind::data, path_, ": '", name, "' is not a data set");
  const Hdf5Handle plist(H5Dget_create_plist(set), H5Pclose);
  if (H5Pget_layout(plist) == H5D_VIRTUAL || H5Pget_external_count(plist) > 0)
    fail(ErrorKind::data, path_, ": '", name, "' keeps its elements in other files, which are not read");
  const Hdf5Handle type = type_of(set);
  const H5T_class_t kind = H5Tget_class(type);
  if (((kind != H5T_INTEGER && kind != H5T_FLOAT) || H5Tget_size(type) > 8) && !is_bool(type))
    fail(ErrorKind::data, path_, ": '", name, "' does not hold bools, whole numbers or floats of at most 64 bits");
  return set;
}

Shape OpenedHdf5::shape_of(hid_t set, const char* name) const {
  const Hdf5Handle space(H5Dget_space(set), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0 || rank > Shape::kMaxRank)
    fail(ErrorKind::data, path_, ": '", name, "' has ", rank, " axes, at most ", Shape::kMaxRank, " are read");
  hsize_t sizes[Shape::kMaxRank] = {};
  H5Sget_simple_extent_dims(space, sizes, nullptr);
  std::vector<int64_t> out;
  int64_t elements = 1;
  for (int axis = 0; axis < rank; ++axis) {
    if (sizes[axis] > hsize_t(INT64_MAX) ||
        __builtin_mul_overflow(elements, std::max<int64_t>(1, int64_t(sizes[axis])), &elements) ||
        elements > Shape::kMostElements)
      fail(ErrorKind::data, path_, ": '", name, "' declares more elements than any file can hold");
    out.push_back(int64_t(sizes[axis]));
  }
  return Shape(out);
}

// A chunk is unpacked as a whole, and may be larger than the data set that it is of.
void OpenedHdf5::check_chunks(hid_t set, const Shape& shape, const char* name) const {
  const Hdf5Handle plist(H5Dget_create_plist(set), H5Pclose);
  if (H5Pget_layout(plist) != H5D_CHUNKED) return;
  hsize_t sizes[Shape::kMaxRank] = {};
  const int rank = H5Pget_chunk(plist, Shape::kMaxRank, sizes);
  double chunk = double(H5Tget_size(type_of(set)));
  for (int axis = 0; axis < rank; ++axis) chunk *= double(sizes[axis]);
  constexpr double kAlways = 64 << 20;
  const double whole = double(shape.elements()) * double(H5Tget_size(type_of(set)));
  if (chunk > kAlways && chunk > 2 * whole)
    fail(ErrorKind::data, path_, ": '", name, "' has chunks of ", bytes_text(chunk), ", more than its ",
         bytes_text(whole), " in all; store it with smaller chunks");
}

std::unique_ptr<Hdf5File> open_file_of_hdf5(const std::string& path) { return std::make_unique<OpenedHdf5>(path); }

const PartRegistration<Hdf5Part> hdf5_part({open_file_of_hdf5}, NEON_MODULE_VERSION);

}  // namespace

}  // namespace neon
