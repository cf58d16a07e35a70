#include "backends/variables.h"

#include "neon/core/error.h"

namespace neon {

Tensor& Variables::declare(const std::string& name, DType dtype, const Shape& shape) {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) {
    NEON_ASSERT(found->second.dtype() == dtype && found->second.shape() == shape);
    return found->second;
  }
  try {
    return tensors_.emplace(name, Tensor(dtype, shape)).first->second;
  } catch (const Error& error) {
    fail(error.kind(), name, ": ", error.what());
  }
}

Tensor& Variables::at(const std::string& name) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) fail(ErrorKind::failed, "no variable is named '", name, "'");
  return found->second;
}

const Tensor& Variables::at(const std::string& name) const { return const_cast<Variables*>(this)->at(name); }

}  // namespace neon
