#include "neon/cli/npz_writer.h"

#include "datasets/gzip.h"
#include "neon/core/message.h"

namespace neon {

namespace {

// Numbers in the byte order of all machines that neon runs on.
template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// NumPy's name of the type; bf16, which NumPy has not, is exported as f32.
std::string numpy_type(DType dtype) {
  const char kind = is_floating(dtype) ? 'f' : dtype == DType::u8 ? 'u' : 'i';
  return text(size_of(dtype) == 1 ? "|" : "<", kind, size_of(dtype));
}

Tensor exported(const Tensor& tensor) { return tensor.dtype() == DType::bf16 ? tensor.converted(DType::f32) : tensor; }

// Version 1.0 of the .npy format, its header filled up to 64 bytes.
std::string npy(const Tensor& tensor) {
  std::string shape;
  for (int axis = 0; axis < tensor.shape().rank(); ++axis) shape += text(tensor.shape()[axis], ",");
  std::string header =
      text("{'descr': '", numpy_type(tensor.dtype()), "', 'fortran_order': False, 'shape': (", shape, "), }");
  constexpr size_t kBefore = 10, kAligned = 64;
  while ((kBefore + header.size() + 1) % kAligned) header += ' ';
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  put(out, uint16_t(header.size()));
  out += header;
  return out.append(static_cast<const char*>(static_cast<const void*>(tensor.data())), tensor.bytes());
}

}  // namespace

void NpzWriter::add(const std::string& name, const Tensor& tensor) { add_file(name + ".npy", npy(exported(tensor))); }

void NpzWriter::add_file(const std::string& name, const std::string& content) {
  constexpr size_t kMost = 0xFFFF0000;
  if (at_ + content.size() + name.size() > kMost)
    fail(ErrorKind::config, file_.path(), ": more than 4 GiB do not fit in an .npz");
  std::string fields;                                                     // that both headers of a member have
  for (const uint16_t number : {20, 0, 0, 0, 0x21}) put(fields, number);  // version, flags, stored, time, 1980-01-01
  for (const size_t number : {size_t(crc32_of(content)), content.size(), content.size()}) put(fields, uint32_t(number));
  put(fields, uint16_t(name.size()));
  std::string head;
  put(head, uint32_t(0x04034b50));
  head += fields;
  put(head, uint16_t(0));
  head += name;
  put(directory_, uint32_t(0x02014b50));
  put(directory_, uint16_t(20));
  directory_ += fields + std::string(12, '\0');  // extra field, comment, disk, attributes
  put(directory_, uint32_t(at_));
  directory_ += name;
  ++count_;
  write(head);
  write(content);
}

void NpzWriter::close() {
  const auto directory = uint32_t(at_);
  std::string end;
  put(end, uint32_t(0x06054b50)), put(end, uint32_t(0));
  put(end, count_), put(end, count_);
  put(end, uint32_t(directory_.size())), put(end, directory), put(end, uint16_t(0));
  write(directory_);
  write(end);
  file_.commit();
}

void NpzWriter::write(const std::string& bytes) {
  file_.write(bytes.data(), bytes.size());
  at_ += bytes.size();
}

}  // namespace neon
