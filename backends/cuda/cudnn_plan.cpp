#include "backends/cuda/cudnn_plan.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "neon/core/error.h"

namespace neon::cuda {

namespace {

constexpr int64_t kMostConfigurations = 64;

}  // namespace

Cudnn::Cudnn() {
  library.find(create, "cudnnCreate");
  library.find(set_stream, "cudnnSetStream");
  library.find(version, "cudnnGetVersion");
  library.find(words, "cudnnGetErrorString");
  library.find(last_words, "cudnnGetLastErrorString");
  library.find(create_descriptor, "cudnnBackendCreateDescriptor");
  library.find(destroy_descriptor, "cudnnBackendDestroyDescriptor");
  library.find(set_attribute, "cudnnBackendSetAttribute");
  library.find(get_attribute, "cudnnBackendGetAttribute");
  library.find(finalize, "cudnnBackendFinalize");
  library.find(execute, "cudnnBackendExecute");
}

const Cudnn& cudnn() {
  static const Cudnn loaded;
  return loaded;
}

void check(cudnnStatus_t status, const std::string& doing) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char more[512] = "";
  cudnn().last_words(more, sizeof more);
  fail(ErrorKind::device, doing, ": cuDNN says ", cudnn().words(status), more[0] ? ": " : "", more);
}

cudnnHandle_t cudnn_handle(const Device& device, size_t thread) {
  static std::mutex mutex;
  static std::map<std::pair<CUstream, size_t>, cudnnHandle_t> handles;
  device.make_current();
  std::unique_lock lock(mutex);
  cudnnHandle_t& handle = handles[{device.stream(), thread}];
  // The first makes what all of them share. After it each is one thread's at a time: of the device's stream by its
  // number, else as who has the stream.
  if (handles.size() > 1) lock.unlock();
  if (!handle) {
    cudnnHandle_t made = nullptr;
    check(cudnn().create(&made), "starting cuDNN");
    check(cudnn().set_stream(made, reinterpret_cast<cudaStream_t>(device.stream())), "starting cuDNN");
    handle = made;  // none that would run on another stream
  }
  return handle;
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  check(cudnn().create_descriptor(type, &descriptor_), "describing an operation");
}

Descriptor::~Descriptor() {
  if (descriptor_) cudnn().destroy_descriptor(descriptor_);
}

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const void* values,
                     size_t count) {
  check(cudnn().set_attribute(descriptor_, name, type, int64_t(count), values), "describing an operation");
}

void Descriptor::finalize() { check(cudnn().finalize(descriptor_), "describing an operation"); }

Plan::Plan(Descriptor descriptor) : descriptor_(std::move(descriptor)) {
  int64_t bytes = 0, count = 0;
  check(cudnn().get_attribute(descriptor_.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count,
                              &bytes),
        "asking for a plan's workspace");
  workspace_bytes_ = size_t(bytes);
}

void Plan::execute(cudnnHandle_t handle, const std::vector<int64_t>& ids, const std::vector<void*>& addresses,
                   void* workspace) const {
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, addresses.data(), addresses.size());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, &workspace);
  pack.finalize();
  check(cudnn().execute(handle, descriptor_.get(), pack.get()), "running a plan of cuDNN's");
}

std::string Plan::json() const {
  int64_t size = 0;
  if (cudnn().get_attribute(descriptor_.get(), CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 0, &size,
                            nullptr) != CUDNN_STATUS_SUCCESS)
    return "";
  std::string out(size_t(size), '\0');
  const auto status = cudnn().get_attribute(descriptor_.get(), CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                            CUDNN_TYPE_CHAR, size, &size, out.data());
  return status == CUDNN_STATUS_SUCCESS ? out : "";
}

std::vector<Plan> Plan::from_json(cudnnHandle_t handle, const std::string& json) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle);
  std::vector<Plan> out;
  const auto status = cudnn().set_attribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                                            int64_t(json.size()), json.data());
  if (status == CUDNN_STATUS_SUCCESS && plan.try_finalize()) out.emplace_back(std::move(plan));
  return out;
}

namespace {

Descriptor engine_of(const Descriptor& configuration) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.get();
  int64_t count = 0;
  check(cudnn().get_attribute(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                              &count, &raw),
        "asking for an engine");
  return engine;
}

std::vector<cudnnBackendNumericalNote_t> notes_of(const Descriptor& engine) {
  int64_t count = 0;
  std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  check(cudnn().get_attribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                              CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes.data()),
        "asking an engine for its arithmetic");
  notes.resize(size_t(std::min<int64_t>(count, CUDNN_NUMERICAL_NOTE_TYPE_COUNT)));
  return notes;
}

bool is_plain(const Descriptor& engine) {
  int64_t number = -1, count = 0;
  return cudnn().get_attribute(engine.get(), CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, &number) ==
             CUDNN_STATUS_SUCCESS &&
         number == 0;
}

bool is_wanted(const Descriptor& configuration, const PlanNeeds& needs) {
  const Descriptor engine = engine_of(configuration);
  if (needs.spares_plain && is_plain(engine)) return false;
  for (const auto note : notes_of(engine)) {
    if (note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC && needs.deterministic) return false;
    if (note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) return false;
    if (needs.exact_f32 &&
        (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE || note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS))
      return false;
  }
  return true;
}

// The heuristic's configurations in its order.
std::vector<Descriptor> configurations(const Descriptor& graph, cudnnBackendHeurMode_t mode) {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &mode);
  if (!heuristic.try_finalize()) return {};
  std::vector<Descriptor> out;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < kMostConfigurations; ++i)
    raw.push_back(out.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  int64_t count = 0;
  check(cudnn().get_attribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                              kMostConfigurations, &count, raw.data()),
        "asking cuDNN's heuristic");
  while (int64_t(out.size()) > count) out.pop_back();
  return out;
}

}  // namespace

std::vector<Plan> make_plans(cudnnHandle_t handle, const std::vector<const Descriptor*>& operations,
                             const PlanNeeds& needs, size_t most) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor* operation : operations) raw.push_back(operation->get());
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw.data(), raw.size());
  std::vector<Plan> out;
  if (!graph.try_finalize()) return out;
  // Seen with cuDNN 9.19 on an H200: mode B, which thinks longer, finds better first plans than A in f32 (a residual
  // net's step 39.6 instead of 46.7 ms with the first plans, 32.7 instead of 35.1 with the fastest), worse ones in f16.
  // For some batches of more than 3,000 images mode B puts the plain engine first, up to 25 times as slow as A's.
  std::vector<cudnnBackendHeurMode_t> modes = {CUDNN_HEUR_MODE_A};
  if (needs.exact_f32) modes.insert(needs.large_batch ? modes.end() : modes.begin(), CUDNN_HEUR_MODE_B);
  modes.push_back(CUDNN_HEUR_MODE_FALLBACK);
  std::set<std::string> known;  // what A and B find is mostly the same
  const auto is_new = [&](const Plan& plan) {
    const std::string json = plan.json();
    return json.empty() || known.insert(json).second;
  };
  for (const auto mode : modes) {
    if (mode == CUDNN_HEUR_MODE_FALLBACK && !out.empty()) break;
    for (const Descriptor& configuration : configurations(graph, mode)) {
      if (out.size() >= most) return out;
      if (!is_wanted(configuration, needs)) continue;
      Descriptor descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      descriptor.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle);
      descriptor.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
      if (!descriptor.try_finalize()) continue;
      Plan plan(std::move(descriptor));
      if (plan.workspace_bytes() > needs.most_workspace || !is_new(plan)) continue;
      out.push_back(std::move(plan));
    }
  }
  if (out.empty() && needs.spares_plain) {
    PlanNeeds any = needs;
    any.spares_plain = false;
    return make_plans(handle, operations, any, most);
  }
  return out;
}

}  // namespace neon::cuda
