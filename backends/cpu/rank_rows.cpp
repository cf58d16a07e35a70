// all_gather, reduce_scatter and all_to_all, by memory or messages of the ranks. Alone, a program has zeros for the
// others.
#include "backends/graph/rank_rows.h"

#include <cstring>

#include "backends/cpu/kernel.h"
#include "backends/graph/ops.h"
#include "backends/ranks.h"

namespace neon::cpu {

namespace {

// Moves bytes from rank to rank, `rank` of which this one is where it is alone.
void move_bytes(Ranks* ranks, int rank, std::span<const Given> give, std::span<const Taken> take) {
  if (ranks) return ranks->all_to_all(give, take);
  for (const Taken& taken : take) std::memset(taken.data, 0, taken.bytes);
  const Given& own = give[size_t(rank)];
  std::memcpy(take[size_t(rank)].data, own.data, own.bytes);
}

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

// An array on its way.
struct MovedArray {
  RankRows rows;
  size_t row = 0;  // its bytes
  void **from = nullptr, **to = nullptr;
};

std::vector<MovedArray> moved_arrays(const LoweredKernel& kernel, Context& context) {
  std::vector<MovedArray> out;
  const size_t arrays = kernel.inputs.size();
  for (size_t i = 0; i < arrays; ++i) {
    const TensorType& type = context.type(kernel.inputs[i]);
    const int64_t row = type.shape.slice(1, type.shape.rank()).elements();
    out.push_back({rank_rows(kernel.attributes, i, arrays), size_t(row) * size_of(type.dtype),
                   context.slot(kernel.inputs[i]), context.slot(kernel.outputs[i])});
  }
  return out;
}

class AllGather : public Kernel {
 public:
  AllGather(const LoweredKernel& kernel, Context& context)
      : ranks_(context.ranks), arrays_(moved_arrays(kernel, context)) {}
  void run(const Run&) override {
    for (const MovedArray& each : arrays_) {
      const std::vector<Given> give(each.rows.rows.size(), Given{*each.from, size_t(each.rows.own()) * each.row});
      move_bytes(ranks_, each.rows.rank, give, taken_rows(*each.to, each.rows, each.row));
    }
  }
  std::string implementation() const override { return "exchange"; }

 private:
  Ranks* const ranks_;
  const std::vector<MovedArray> arrays_;
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

class ReduceScatter : public Kernel {
 public:
  ReduceScatter(const LoweredKernel& kernel, Context& context)
      : ranks_(context.ranks), dtype_(context.type(kernel.inputs[0]).dtype), arrays_(moved_arrays(kernel, context)) {
    size_t most = 0;
    for (const MovedArray& each : arrays_)
      most = std::max(most, each.rows.rows.size() * size_t(each.rows.own()) * each.row);
    parts_.resize(most);
  }
  void run(const Run&) override {
    for (const MovedArray& each : arrays_) {
      const size_t own = size_t(each.rows.own()) * each.row;
      move_bytes(ranks_, each.rows.rank, given_rows(*each.from, each.rows, each.row),
                 taken_rows(parts_.data(), even_parts(each.rows), own));
      add(each, int64_t(own / size_of(dtype_)));
    }
  }
  std::string implementation() const override { return "exchange"; }

 private:
  void add(const MovedArray& array, int64_t elements) {
    switch (dtype_) {
      case DType::f64: return add_as<double>(array, elements);
      case DType::f32: return add_as<float>(array, elements);
      case DType::f16: return add_as<f16>(array, elements);
      case DType::bf16: return add_as<bf16>(array, elements);
      default: fail(ErrorKind::failed, "ranks exchange no ", dtype_);
    }
  }
  template <typename T>
  void add_as(const MovedArray& array, int64_t elements) {
    add_parts(reinterpret_cast<const T*>(parts_.data()), array.rows.ranks(), elements, static_cast<T*>(*array.to));
  }

  Ranks* const ranks_;
  const DType dtype_;
  const std::vector<MovedArray> arrays_;
  std::vector<std::byte> parts_;  // of one array: what each rank has for this one
};

class AllToAll : public Kernel {
 public:
  AllToAll(const LoweredKernel& kernel, Context& context)
      : ranks_(context.ranks),
        rows_(rank_rows(kernel.attributes)),
        back_(kernel.attributes.integer("back") != 0),
        part_(context.type(kernel.inputs[0]).shape.back() * int64_t(size_of(context.type(kernel.inputs[0]).dtype))),
        from_(context.slot(kernel.inputs[0])),
        to_(context.slot(kernel.outputs[0])) {}
  void run(const Run&) override {
    const size_t own = size_t(rows_.own()) * size_t(part_);
    if (back_)
      move_bytes(ranks_, rows_.rank, given_rows(*from_, even_parts(rows_), own),
                 taken_rows(*to_, rows_, size_t(part_)));
    else
      move_bytes(ranks_, rows_.rank, given_rows(*from_, rows_, size_t(part_)),
                 taken_rows(*to_, even_parts(rows_), own));
  }
  std::string implementation() const override { return "exchange"; }

 private:
  Ranks* const ranks_;
  const RankRows rows_;
  const bool back_;
  const int64_t part_;  // bytes of a row's columns
  void** const from_;
  void** const to_;
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
