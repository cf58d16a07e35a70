// cuDNN's graph interface: descriptors with attributes, and execution plans of operation graphs. The library is opened
// when the first program with a convolution or with attention is made, or is going to be.
#pragma once
#include <cudnn.h>

#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/driver.h"
#include "backends/cuda/library.h"

namespace neon::cuda {

struct Cudnn {
  Library library{"convolution on the GPU", CudaLibrary::cudnn};
  decltype(cudnnCreate)* create;
  decltype(cudnnSetStream)* set_stream;
  decltype(cudnnGetVersion)* version;
  decltype(cudnnGetErrorString)* words;
  decltype(cudnnGetLastErrorString)* last_words;
  decltype(cudnnBackendCreateDescriptor)* create_descriptor;
  decltype(cudnnBackendDestroyDescriptor)* destroy_descriptor;
  decltype(cudnnBackendSetAttribute)* set_attribute;
  decltype(cudnnBackendGetAttribute)* get_attribute;
  decltype(cudnnBackendFinalize)* finalize;
  decltype(cudnnBackendExecute)* execute;
  Cudnn();
};

const Cudnn& cudnn();

// Throws a device error with what was being done and cuDNN's words.
void check(cudnnStatus_t status, const std::string& doing);

// The library's state for a device's stream and one of the threads that call it, 0 for those that run kernels; made
// once, as the first takes half a second.
cudnnHandle_t cudnn_handle(const Device& device, size_t thread);

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  cudnnBackendDescriptor_t get() const { return descriptor_; }

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const void* values, size_t count = 1);
  void set(cudnnBackendAttributeName_t name, int64_t value) { set(name, CUDNN_TYPE_INT64, &value); }
  void set(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values) {
    set(name, CUDNN_TYPE_INT64, values.data(), values.size());
  }
  void set(cudnnBackendAttributeName_t name, float value) { set(name, CUDNN_TYPE_FLOAT, &value); }
  void set(cudnnBackendAttributeName_t name, bool value) { set(name, CUDNN_TYPE_BOOLEAN, &value); }
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t value) { set(name, CUDNN_TYPE_DATA_TYPE, &value); }
  void set(cudnnBackendAttributeName_t name, cudnnHandle_t value) { set(name, CUDNN_TYPE_HANDLE, &value); }
  void set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, &value.descriptor_);
  }
  void finalize();
  // Whether the library supports what is described.
  bool try_finalize() { return cudnn().finalize(descriptor_) == CUDNN_STATUS_SUCCESS; }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

// Requirements for the plans of an operation graph that a program may run.
struct PlanNeeds {
  bool exact_f32 = false;      // f32 stays f32: no tensor cores, whose products of f32 are TF32
  bool deterministic = false;  // the same bits each time
  bool large_batch = false;    // of more images than heuristic B is good at
  bool spares_plain = false;   // the plain engine, number 0, only where there is no other
  size_t most_workspace = 0;   // bytes
};

// A finished execution plan.
class Plan {
 public:
  explicit Plan(Descriptor descriptor);
  size_t workspace_bytes() const { return workspace_bytes_; }
  // Addresses of the tensors of the operation graph that are not virtual, with their ids.
  void execute(cudnnHandle_t handle, const std::vector<int64_t>& ids, const std::vector<void*>& addresses,
               void* workspace) const;
  // All that is needed to make it again, on the same GPU with the same library; "" where that cannot be written.
  std::string json() const;
  // One plan, or none where the library does not take it.
  static std::vector<Plan> from_json(cudnnHandle_t handle, const std::string& json);

 private:
  Descriptor descriptor_;
  size_t workspace_bytes_ = 0;
};

// Plans of the graph of `operations`, the heuristic's best first, at most so many; none where there is no engine for
// it.
std::vector<Plan> make_plans(cudnnHandle_t handle, const std::vector<const Descriptor*>& operations,
                             const PlanNeeds& needs, size_t most);

}  // namespace neon::cuda
