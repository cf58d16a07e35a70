// all_gather, reduce_scatter and all_to_all, by memory or messages of the ranks. Alone, a program has zeros for the
// others.
#include "backends/graph/rank_rows.h"

#include <cstring>

#include "backends/cpu/kernel.h"
#include "backends/graph/ops.h"
#include "backends/ranks.h"

namespace neon::cpu {

namespace {

// Moves bytes from rank to rank: with which this one takes its place among so many.
class RankRowsKernel : public Kernel {
 public:
  RankRowsKernel(const LoweredKernel& kernel, Context& context)
      : rows_(rank_rows(kernel.attributes)),
        ranks_(context.ranks),
        dtype_(context.type(kernel.inputs[0]).dtype),
        from_(context.slot(kernel.inputs[0])),
        to_(context.slot(kernel.outputs[0])) {}
  std::string implementation() const override { return "exchange"; }

 protected:
  void exchange(std::span<const Given> give, std::span<const Taken> take) const {
    if (ranks_) return ranks_->all_to_all(give, take);
    for (const Taken& taken : take) std::memset(taken.data, 0, taken.bytes);
    const Given& own = give[size_t(rows_.rank)];
    std::memcpy(take[size_t(rows_.rank)].data, own.data, own.bytes);
  }

  const RankRows rows_;
  Ranks* const ranks_;
  const DType dtype_;
  void** const from_;
  void** const to_;
};

// The places of all ranks' rows in an array, of so many bytes a row.
std::vector<Given> given_rows(const void* data, const RankRows& rows, size_t row) {
  std::vector<Given> out;
  for (int k = 0; k < rows.ranks(); ++k)
    out.push_back(
        {static_cast<const std::byte*>(data) + size_t(rows.first(k)) * row, size_t(rows.rows[size_t(k)]) * row});
  return out;
}

std::vector<Taken> taken_rows(void* data, const RankRows& rows, size_t row) {
  std::vector<Taken> out;
  for (const Given& given : given_rows(data, rows, row)) out.push_back({const_cast<void*>(given.data), given.bytes});
  return out;
}

// As many parts of an array as there are ranks, of so many bytes each.
RankRows even_parts(const RankRows& rows) { return {std::vector<int64_t>(rows.rows.size(), 1), rows.rank}; }

size_t row_bytes(const TensorType& type, int64_t rows) { return rows == 0 ? 0 : type.bytes() / size_t(rows); }

class AllGather : public RankRowsKernel {
 public:
  AllGather(const LoweredKernel& kernel, Context& context)
      : RankRowsKernel(kernel, context), bytes_(context.type(kernel.inputs[0]).bytes()) {}
  void run(const Run&) override {
    const std::vector<Given> give(rows_.rows.size(), Given{*from_, bytes_});
    exchange(give, taken_rows(*to_, rows_, bytes_ / size_t(rows_.own())));
  }

 private:
  const size_t bytes_;  // of this rank's rows
};

// Adds up in the order of ranks; numbers of 16 bits in f32.
template <typename T>
void add_parts(const T* parts, int64_t ranks, int64_t elements, T* to) {
  using Sum = std::conditional_t<sizeof(T) == 2, float, T>;
  for (int64_t i = 0; i < elements; ++i) {
    Sum total = load_as<Sum>(parts[i]);
    for (int64_t k = 1; k < ranks; ++k) total += load_as<Sum>(parts[k * elements + i]);
    to[i] = store_as<T>(total);
  }
}

class ReduceScatter : public RankRowsKernel {
 public:
  ReduceScatter(const LoweredKernel& kernel, Context& context)
      : RankRowsKernel(kernel, context),
        elements_(context.type(kernel.outputs[0]).shape.elements()),
        row_(row_bytes(context.type(kernel.inputs[0]), rows_.all())),
        parts_(rows_.rows.size() * size_t(elements_) * size_of(dtype_)) {}
  void run(const Run&) override {
    exchange(given_rows(*from_, rows_, row_),
             taken_rows(parts_.data(), even_parts(rows_), size_t(elements_) * size_of(dtype_)));
    switch (dtype_) {
      case DType::f64: return add<double>();
      case DType::f32: return add<float>();
      case DType::f16: return add<f16>();
      case DType::bf16: return add<bf16>();
      default: fail(ErrorKind::failed, "ranks exchange no ", dtype_);
    }
  }

 private:
  template <typename T>
  void add() {
    add_parts(reinterpret_cast<const T*>(parts_.data()), rows_.ranks(), elements_, static_cast<T*>(*to_));
  }
  const int64_t elements_;  // of this rank's rows
  const size_t row_;
  std::vector<std::byte> parts_;  // what each rank has for this one
};

class AllToAll : public RankRowsKernel {
 public:
  AllToAll(const LoweredKernel& kernel, Context& context)
      : RankRowsKernel(kernel, context),
        back_(kernel.attributes.integer("back") != 0),
        part_(context.type(kernel.inputs[0]).shape.back() * int64_t(size_of(dtype_))) {}
  void run(const Run&) override {
    const size_t own = size_t(rows_.own()) * size_t(part_);
    if (back_) exchange(given_rows(*from_, even_parts(rows_), own), taken_rows(*to_, rows_, size_t(part_)));
    else exchange(given_rows(*from_, rows_, size_t(part_)), taken_rows(*to_, even_parts(rows_), own));
  }

 private:
  const bool back_;
  const int64_t part_;  // bytes of a row's columns
};

template <typename K>
std::unique_ptr<Kernel> make(const LoweredKernel& kernel, Context& context) {
  return std::make_unique<K>(kernel, context);
}

const KernelRegistration kernels[] = {
    KernelRegistration(ops::all_gather, 0, make<AllGather>),
    KernelRegistration(ops::reduce_scatter, 0, make<ReduceScatter>),
    KernelRegistration(ops::all_to_all, 0, make<AllToAll>),
};

}  // namespace

}  // namespace neon::cpu
