#include "neon/train/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "neon/core/file_kind.h"
#include "neon/train/atomic_file.h"
#include "neon/train/safetensors_header.h"

namespace neon {

static_assert(std::endian::native == std::endian::little, "the format's data are little-endian");

namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the format's own library

const char* written_name(DType dtype) {
  switch (dtype) {
    case DType::f64: return "F64";
    case DType::f32: return "F32";
    case DType::f16: return "F16";
    case DType::bf16: return "BF16";
    case DType::i64: return "I64";
    case DType::i32: return "I32";
    case DType::i8: return "I8";
    case DType::u8: return "U8";
  }
  __builtin_unreachable();
}

// JSON holds UTF-8 only; the library throws on anything else.
std::string json_text(const nlohmann::ordered_json& json) {
  try {
    return json.dump();
  } catch (const nlohmann::json::exception&) {
    fail(ErrorKind::failed, "a tensor's name or a metadata text is not UTF-8 and cannot be written");
  }
}

}  // namespace

const Tensor* TensorFile::find(std::string_view name) const {
  for (const NamedTensor& named : tensors)
    if (named.name == name) return &named.tensor;
  return nullptr;
}

SafetensorsHeader lay_out(const TensorFile& file, std::vector<size_t>& order) {
  order.resize(file.tensors.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::sort(order, [&](size_t a, size_t b) {
    const NamedTensor &x = file.tensors[a], &y = file.tensors[b];
    const size_t x_size = size_of(x.tensor.dtype()), y_size = size_of(y.tensor.dtype());
    return x_size != y_size ? x_size > y_size : x.name < y.name;
  });
  SafetensorsHeader header;
  header.metadata = file.metadata;
  size_t offset = 0;
  for (size_t index : order) {
    const auto& [name, tensor] = file.tensors[index];
    if (tensor.bytes() && tensor.empty()) fail(ErrorKind::failed, "tensor ", in_quotes(name), " has no data to write");
    header.entries.push_back({name, tensor.dtype(), tensor.shape(), offset, offset + tensor.bytes()});
    offset += tensor.bytes();
  }
  return header;
}

std::string format_header(const SafetensorsHeader& header) {
  std::map<std::string, const TensorEntry*> by_name;
  for (const TensorEntry& entry : header.entries) {
    if (entry.name == "__metadata__")
      fail(ErrorKind::failed, "a tensor cannot be named __metadata__ in a .safetensors");
    if (!by_name.emplace(entry.name, &entry).second)
      fail(ErrorKind::failed, "two tensors are named ", in_quotes(entry.name), "; names in a .safetensors are unique");
  }
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!header.metadata.empty()) json["__metadata__"] = header.metadata;
  // push_back, not [name]: an ordered object looks a name up by walking through all before it.
  auto& object = json.get_ref<nlohmann::ordered_json::object_t&>();
  for (const auto& [name, entry] : by_name) {
    nlohmann::ordered_json sizes = nlohmann::ordered_json::array();
    for (int64_t size : entry->shape) sizes.push_back(size);
    object.emplace_back(name, nlohmann::ordered_json{{"dtype", written_name(entry->dtype)},
                                                     {"shape", std::move(sizes)},
                                                     {"data_offsets", {entry->begin, entry->end}}});
  }
  std::string out = json_text(json);
  out.append((8 - out.size() % 8) % 8, ' ');
  if (out.size() > kMaxHeaderBytes)
    fail(ErrorKind::failed, "the names, shapes and metadata take ", bytes_text(double(out.size())),
         "; a .safetensors header holds at most ", bytes_text(double(kMaxHeaderBytes)));
  return out;
}

std::string format_texts(const std::map<std::string, std::string>& texts) { return json_text(texts); }

std::string read_header_text(const FileHandle& file, const std::string& path) {
  const size_t size = file_size(file, path);
  uint64_t length = 0;
  if (size < sizeof length)
    fail(ErrorKind::data, path, ": ", size, " bytes are too few for a .safetensors file; it was cut off or is another");
  read_exactly(file, 0, &length, sizeof length, path);
  if (length > kMaxHeaderBytes || length > size - sizeof length) {
    std::string head(std::min<size_t>(size, 512), '\0');
    read_exactly(file, 0, head.data(), head.size(), path);
    if (const std::string kind = looks_like(head); !kind.empty())
      fail(ErrorKind::data, path, ": expected a checkpoint (.safetensors); the file looks like ", kind);
    fail(ErrorKind::data, path, ": a header of ", length, " bytes does not fit a file of ", size,
         " bytes; it was cut off or is not a .safetensors file");
  }
  std::string out(length, '\0');
  read_exactly(file, sizeof length, out.data(), length, path);
  return out;
}

SafetensorsReader::SafetensorsReader(FileHandle file, const std::string& path)
    : file_(std::move(file)), path_(path), text_(read_header_text(file_, path_)) {
  header_ = parse_header(text_, file_size(file_, path_) - sizeof(uint64_t) - text_.size(), path_);
}

Tensor SafetensorsReader::read(const TensorEntry& entry) const {
  Tensor tensor(entry.dtype, entry.shape);
  read_bytes(entry.begin, tensor.data(), tensor.bytes());
  return tensor;
}

void SafetensorsReader::read_bytes(size_t offset, void* to, size_t bytes) const {
  read_exactly(file_, sizeof(uint64_t) + text_.size() + offset, to, bytes, path_);
}

void write_safetensors(const std::string& path, const TensorFile& file) {
  std::vector<size_t> order;
  const std::string header = format_header(lay_out(file, order));
  const uint64_t length = header.size();
  AtomicFile out(path);
  out.write(&length, sizeof length);
  out.write(header.data(), header.size());
  for (size_t index : order) out.write(file.tensors[index].tensor.data(), file.tensors[index].tensor.bytes());
  out.commit();
}

TensorFile read_safetensors(const std::string& path) {
  const SafetensorsReader reader(path);
  TensorFile out;
  out.metadata = reader.header().metadata;
  for (const TensorEntry& entry : reader.header().entries) out.tensors.push_back({entry.name, reader.read(entry)});
  return out;
}

}  // namespace neon
