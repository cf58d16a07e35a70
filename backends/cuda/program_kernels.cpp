#include "backends/cuda/program_kernels.h"

#include "backends/cuda/attention_kernel.h"
#include "backends/cuda/attention_plan.h"
#include "backends/cuda/compile.h"
#include "backends/cuda/op_source.h"
#include "backends/cuda/pointwise.h"
#include "backends/cuda/product.h"
#include "backends/graph/op.h"

namespace neon::cuda {

namespace {

constexpr size_t kMostExpression = 120;  // bytes of a fused kernel's in a message

std::vector<Source> write_sources(const std::vector<size_t>& kernels, SourceContext& context, PartialsPlan& partials) {
  std::vector<Source> out;
  for (size_t k : kernels) {
    const LoweredKernel& kernel = context.lowered.kernels[k];
    out.push_back(kernel.fused ? fused_source(*kernel.fused, context) : op_source(kernel, context));
    partials.take(out.back());
  }
  return out;
}

std::vector<std::string> texts_of(const std::vector<Source>& sources) {
  std::vector<std::string> out;
  for (const Source& source : sources) out.push_back(source.text);
  return out;
}

}  // namespace

void ProgramKernels::make(const DeviceOptions& options, std::map<std::string, int>& scalars, const RingPlan& ring) {
  engine_->early_launches.end();  // what is timed now is alone on the GPU
  const Graph& graph = lowered_.graph;
  SourceContext context = source_context(lowered_, scalars, ring, options, *engine_->device);
  ColdStart cold(options.listener, engine_->cold_start_told);
  for (int n = 0; n < graph.node_count(); ++n) looks_up_ = looks_up_ || graph.node(n).op->traits.looks_up;
  kernels_.resize(lowered_.kernels.size());
  exchanges_.emplace(lowered_, options.program.ranks, engine_);
  std::vector<size_t> generated, asked;
  for (size_t k = 0; k < kernels_.size(); ++k)
    if (!exchanges_->has(k)) (asks_library(lowered_.kernels[k], context) ? asked : generated).push_back(k);
  PartialsPlan partials;
  const int arch = engine_->device->arch();
  // Compiled while algorithms are chosen.
  const std::vector<Source> sources = write_sources(generated, context, partials);
  Compilation compiled(texts_of(sources), arch, &cold);
  const std::vector<size_t> refused = choose_libraries(asked, options, cold);
  const std::vector<Source> instead = write_sources(refused, context, partials);
  Compilation compiled_instead(texts_of(instead), arch, &cold);
  load_sources(sources, generated, compiled.codes());
  load_sources(instead, refused, compiled_instead.codes());
  for (size_t k = 0; k < kernels_.size(); ++k)
    implementations_.push_back(kernels_[k].library         ? kernels_[k].library->library()
                               : exchanges_->has(k)        ? "nccl"
                               : lowered_.kernels[k].fused ? "fused"
                                                           : "own");
  ticket_bytes_ = partials.ticket_bytes();
  partials_ = Memory(engine_->device, partials.bytes(), "partial results");
}

std::vector<size_t> ProgramKernels::choose_libraries(const std::vector<size_t>& asked, const DeviceOptions& options,
                                                     ColdStart& cold) {
  const LibraryOptions library{options.timed,
                               options.tf32,
                               &cold,
                               engine_->convolutions.get(),
                               options.piece_bytes,
                               engine_->scratch.missing(lowered_.arena_bytes)};
  std::vector<const LoweredKernel*> convolutions;
  for (size_t k : asked)
    if (lowered_.kernels[k].convolution() != ConvolutionKind::none) convolutions.push_back(&lowered_.kernels[k]);
  prepare_convolutions(convolutions, lowered_, *engine_->device, library);
  std::vector<size_t> refused;
  for (size_t k : asked) {
    const LoweredKernel& kernel = lowered_.kernels[k];
    if (!(kernels_[k].library = library_kernel(k, library))) {
      refused.push_back(k);
      continue;
    }
    kernels_[k].arrays = library_arrays(kernel);
  }
  return refused;
}

std::unique_ptr<LibraryKernel> ProgramKernels::library_kernel(size_t k, const LibraryOptions& options) const {
  const LoweredKernel& kernel = lowered_.kernels[k];
  // Do not blame this kernel for a fault of earlier kernels.
  if (options.timed) engine_->device->wait("waiting for the GPU");
  try {
    const Graph& graph = lowered_.graph;
    if (is_attention(*kernel.op)) return make_attention(kernel, lowered_, engine_->device, options);
    if (!kernel.is_matrix_product()) return make_convolution_or_product(kernel, lowered_, engine_->device, options);
    if (!has_types_of_product(kernel, graph)) return nullptr;
    return make_product(product_of(kernel, graph), engine_->device, options);
  } catch (const KernelFault& fault) {
    fail(ErrorKind::device, "choosing an algorithm for ", describe(k), ": ", fault.message());
  }
}

void ProgramKernels::load_sources(const std::vector<Source>& sources, const std::vector<size_t>& kernels,
                                  const std::vector<std::string>& codes) {
  for (size_t i = 0; i < sources.size(); ++i) {
    Kernel& kernel = kernels_[kernels[i]];
    modules_.emplace_back(engine_->device, codes[i]);
    kernel.function = modules_.back().function("kernel");
    kernel.arrays = sources[i].arrays;
    kernel.blocks = sources[i].blocks;
    if ((kernel.shared_bytes = sources[i].shared_bytes))
      check(cuFuncSetAttribute(kernel.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                               int(kernel.shared_bytes)),
            "asking for shared memory");
  }
}

std::vector<size_t> ProgramKernels::workspaces() const {
  std::vector<size_t> out;
  for (const Kernel& kernel : kernels_) out.push_back(kernel.library ? kernel.library->workspace_bytes() : 0);
  return out;
}

std::vector<EarlyLaunch> ProgramKernels::early_launches(const ProgramMemory& memory, void* anywhere) const {
  const auto place = [&](Value value) { return memory.is_placed(value) ? memory.address(value) : anywhere; };
  std::vector<EarlyLaunch> out;
  for (size_t k = 0; k < kernels_.size(); ++k) {
    const Kernel& kernel = kernels_[k];
    if (!kernel.library || !anywhere) continue;
    out.push_back({kernel.library.get(), {}, memory.workspace(k)});
    for (Value value : kernel.arrays) out.back().arrays.push_back(value ? place(value) : nullptr);
  }
  return out;
}

void ProgramKernels::launch(size_t k, const ProgramMemory& memory, void* record, void* ring) const {
  const Kernel& kernel = kernels_[k];
  exchanges_->join_before(k);
  if (exchanges_->has(k)) return exchanges_->launch(k, memory);
  if (kernel.library) {
    std::vector<void*> arrays;
    for (Value value : kernel.arrays) arrays.push_back(value ? memory.address(value) : nullptr);
    return kernel.library->run(arrays, memory.workspace(k));
  }
  void *rows = static_cast<std::byte*>(ring) + kRingOffset, *ticket = partials_.data(),
       *partials = static_cast<std::byte*>(partials_.data()) + ticket_bytes_;
  std::vector<void*> values;
  for (Value value : kernel.arrays) values.push_back(memory.address(value));
  for (void* shared : {ring, record, rows, partials, ticket}) values.push_back(shared);  // State comes first
  std::vector<void*> parameters;
  for (void*& value : values) parameters.push_back(&value);
  const CUresult result =
      cuLaunchKernel(kernel.function, unsigned(kernel.blocks), 1, 1, kThreads, 1, 1, unsigned(kernel.shared_bytes),
                     engine_->device->stream(), parameters.data(), nullptr);
  if (result != CUDA_SUCCESS) engine_->device->check(result, "starting " + describe(k));
}

void ProgramKernels::join(size_t k) const {
  if (exchanges_->has(k)) exchanges_->join(k);
}

void ProgramKernels::wait_for(size_t k) const {
  if (!engine_->device->waits_for_kernels()) return;
  join(k);
  if (const CUresult result = cuStreamSynchronize(engine_->device->stream()); result != CUDA_SUCCESS)
    check(result, describe(k));
}

// "kernel 3 of the training step, matmul + relu in layer Affine_0"
std::string ProgramKernels::describe(size_t k) const {
  const LoweredKernel& kernel = lowered_.kernels[k];
  std::string op = summary(kernel);
  if (const FusedKernel* code = kernel.fused ? kernel.fused.get() : kernel.prologue())
    op += " " + code->to_string(lowered_.graph).substr(0, kMostExpression);
  return text("kernel ", k, " of ", program_, ", ", op, kernel.scope.empty() ? "" : " in layer " + kernel.scope);
}

}  // namespace neon::cuda
