#include "backends/cuda/product_terms.h"

#include <utility>

#include "backends/cuda/tensor_map.h"

namespace neon::cuda {

namespace {

constexpr unsigned kBlockThreads = 256;

class TermsKernel : public OperandsKernel {
 public:
  TermsKernel(const ProductTerms& of, bool swapped, std::shared_ptr<Device> device, ColdStart* cold)
      : of_(of),
        swapped_(swapped),
        device_(std::move(device)),
        code_(code_of(of.source(), device_, cold)),
        function_(code_->function("kernel")) {
    check(cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, int(of.shared_bytes())),
          "asking for shared memory");
    if (of.shares_tiles()) tickets_ = Memory(device_, size_t(of.tiles()) * sizeof(unsigned), "a product");
  }
  const char* library() const override { return kTerms; }
  size_t workspace_bytes() const override { return product_workspace(); }  // as is planned, whoever multiplies

  void launch(const Operands& at, void* workspace) override {
    ProductTerms::Sizes sizes = of_.sizes;
    const void *a = swapped_ ? at.b : at.a, *b = swapped_ ? at.a : at.b, *bias = at.bias, *addend = at.addend;
    void *c = at.c, *parts = workspace, *tickets = tickets_.data();
    void* parameters[] = {&sizes, &a, &b, &bias, &addend, &c, &parts, &tickets};
    device_->check(cuLaunchKernel(function_, unsigned(of_.blocks()), 1, 1, kBlockThreads, 1, 1,
                                  unsigned(of_.shared_bytes()), device_->stream(), parameters, nullptr),
                   "multiplying matrices");
  }

 private:
  const ProductTerms of_;
  const bool swapped_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<const LoadedCode> code_;
  const CUfunction function_;
  Memory tickets_;  // of tiles that several blocks share
};

}  // namespace

std::unique_ptr<OperandsKernel> make_product_terms(const ProductTerms& of, bool swapped, std::shared_ptr<Device> device,
                                                   ColdStart* cold) {
  return std::make_unique<TermsKernel>(of, swapped, std::move(device), cold);
}

}  // namespace neon::cuda
