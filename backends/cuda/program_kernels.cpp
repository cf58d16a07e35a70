// How a program on the GPU gets its kernels: of libraries, chosen among their algorithms, and of generated source.
#include "backends/cuda/compile.h"
#include "backends/cuda/op_source.h"
#include "backends/cuda/pointwise.h"
#include "backends/cuda/product.h"
#include "backends/cuda/program.h"
#include "backends/graph/op.h"

namespace neon::cuda {

namespace {

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

void CudaProgram::make_kernels(const DeviceOptions& options) {
  engine_->early_launches.end();  // what is timed now is alone on the GPU
  const Graph& graph = lowered_.graph;
  SourceContext context = source_context(lowered_, scalars_, ring_plan_, options, *engine_->device);
  ColdStart cold(options.listener);
  for (int n = 0; n < graph.node_count(); ++n) looks_up_ = looks_up_ || graph.node(n).op->traits.looks_up;
  kernels_.resize(lowered_.kernels.size());
  std::vector<size_t> generated, asked;
  for (size_t k = 0; k < kernels_.size(); ++k)
    (asks_library(lowered_.kernels[k], context) ? asked : generated).push_back(k);
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
                               : lowered_.kernels[k].fused ? "fused"
                                                           : "own");
  ticket_bytes_ = partials.ticket_bytes();
  partials_ = Memory(engine_->device, partials.bytes(), "partial results");
}

std::vector<size_t> CudaProgram::choose_libraries(const std::vector<size_t>& asked, const DeviceOptions& options,
                                                  ColdStart& cold) {
  const LibraryOptions library{options.timed,
                               options.tf32,
                               &cold,
                               engine_->convolutions.get(),
                               options.piece_bytes,
                               engine_->scratch.missing(lowered_.arena_bytes)};
  std::vector<const LoweredKernel*> convolutions;
  for (size_t k : asked)
    if (!lowered_.kernels[k].is_matrix_product()) convolutions.push_back(&lowered_.kernels[k]);
  prepare_convolutions(convolutions, lowered_, *engine_->device, library);
  std::vector<size_t> refused;
  for (size_t k : asked) {
    const LoweredKernel& kernel = lowered_.kernels[k];
    if ((kernels_[k].library = library_kernel(k, library)))
      kernels_[k].arrays = {kernel.inputs[0], kernel.inputs[1], kernel.bias(), kernel.outputs[0]};
    else refused.push_back(k);
  }
  return refused;
}

std::unique_ptr<LibraryKernel> CudaProgram::library_kernel(size_t k, const LibraryOptions& options) {
  const LoweredKernel& kernel = lowered_.kernels[k];
  // Do not blame this kernel for a fault of earlier kernels.
  if (options.timed) engine_->device->wait("waiting for the GPU");
  try {
    if (!kernel.is_matrix_product()) return make_convolution_or_product(kernel, lowered_, engine_->device, options);
    const Graph& graph = lowered_.graph;
    if (!has_types_of_product(kernel, graph)) return nullptr;
    return make_product(product_of(kernel, graph), engine_->device, options);
  } catch (const KernelFault& fault) {
    fail(ErrorKind::device, "choosing an algorithm for ", describe(k), ": ", fault.message());
  }
}

void CudaProgram::load_sources(const std::vector<Source>& sources, const std::vector<size_t>& kernels,
                               const std::vector<std::string>& codes) {
  for (size_t i = 0; i < sources.size(); ++i) {
    Kernel& kernel = kernels_[kernels[i]];
    modules_.emplace_back(engine_->device, codes[i]);
    kernel.function = modules_.back().function("kernel");
    kernel.arrays = sources[i].arrays;
    kernel.blocks = sources[i].blocks;
  }
}

}  // namespace neon::cuda
