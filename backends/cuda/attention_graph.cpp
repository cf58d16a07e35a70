// The graphs that cuDNN 9 documents for fused attention. With z = scale q k', unseen places of which are replaced:
//   forward    y = softmax(z) v, sums = max z + log sum exp(z - max z)
//   gradient   p = exp(z - sums), dv = p' g, dz = scale p (g v' - sum(g y)), dk = dz' q, dq = dz k
// The library has the heads of an array as its second axis, so an array (N,T,H,D) is (N,H,T,D) with strides.
#include "backends/cuda/attention_graph.h"

#include <deque>
#include <limits>

namespace neon::cuda {

namespace {

constexpr float kUnseen = std::numeric_limits<float>::lowest();
enum Number : int64_t { kScale = 20, kUnseenNumber, kOne };  // ids behind those of arrays
constexpr int64_t kFirstVirtual = 100;

using Sizes = std::vector<int64_t>;

class AttentionGraph {
 public:
  explicit AttentionGraph(const AttentionCase& c)
      : c_(c),
        type_(c.dtype == DType::f16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16),
        scale_(number(kScale)),
        matrix_{c.samples, c.heads, c.queries, c.keys},
        rows_{c.samples, c.heads, c.queries, 1} {
    c.gradient ? add_gradient() : add_forward();
  }

  std::vector<Plan> plans(cudnnHandle_t handle, const PlanNeeds& needs) const {
    std::vector<const Descriptor*> operations;
    for (const Descriptor& operation : operations_) operations.push_back(&operation);
    return make_plans(handle, operations, needs, 1);
  }

 private:
  using Tensor = const Descriptor&;

  static Sizes dense(const Sizes& sizes) {
    Sizes out(sizes.size(), 1);
    for (size_t i = sizes.size() - 1; i-- > 0;) out[i] = out[i + 1] * sizes[i + 1];
    return out;
  }

  enum class Lies { in_memory, nowhere, on_host };
  Tensor tensor(int64_t id, const Sizes& sizes, const Sizes& strides, cudnnDataType_t type, Lies lies) {
    Descriptor& out = tensors_.emplace_back(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    out.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
    out.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
    out.set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes);
    out.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
    out.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, int64_t(16));
    out.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, lies == Lies::nowhere);
    out.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, lies == Lies::on_host);
    out.finalize();
    return out;
  }
  Tensor number(int64_t id) { return tensor(id, {1, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_DATA_FLOAT, Lies::on_host); }
  Tensor between(const Sizes& sizes, const Sizes& strides, cudnnDataType_t type) {
    return tensor(next_++, sizes, strides, type, Lies::nowhere);
  }
  Tensor between(const Sizes& sizes, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return between(sizes, dense(sizes), type);
  }
  int64_t row_of(AttentionArray which, int64_t heads) const {
    switch (which) {
      case AttentionArray::dq: return c_.dq_row;
      case AttentionArray::dk: return c_.dk_row;
      case AttentionArray::dv: return c_.dv_row;
      default: return heads * c_.size;
    }
  }
  // (N,steps,heads,D), or with the last two axes turned, (N,heads,D,steps).
  Tensor array(AttentionArray which, int64_t steps, int64_t heads, bool turned = false) {
    const int64_t row = row_of(which, heads);
    Sizes sizes = {c_.samples, heads, steps, c_.size}, strides = {steps * row, c_.size, row, 1};
    if (turned) std::swap(sizes[2], sizes[3]), std::swap(strides[2], strides[3]);
    return tensor(int64_t(which), sizes, strides, type_, Lies::in_memory);
  }
  Tensor of_queries(AttentionArray which) { return array(which, c_.queries, c_.heads); }
  Tensor of_keys(AttentionArray which, bool turned) { return array(which, c_.keys, c_.key_heads, turned); }
  Tensor of_rows(AttentionArray which) {
    return tensor(int64_t(which), rows_, dense(rows_), CUDNN_DATA_FLOAT, Lies::in_memory);
  }

  // An operation that `what` describes, on tensors.
  void add(cudnnBackendDescriptorType_t type, cudnnBackendAttributeName_t attribute, const Descriptor& what,
           const std::vector<std::pair<cudnnBackendAttributeName_t, const Descriptor*>>& tensors) {
    Descriptor& out = operations_.emplace_back(type);
    out.set(attribute, what);
    for (const auto& [name, tensor] : tensors) out.set(name, *tensor);
    out.finalize();
  }

  void product(Tensor a, Tensor b, Tensor c) {
    Descriptor what(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    what.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
    what.finalize();
    add(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, CUDNN_ATTR_OPERATION_MATMUL_DESC, what,
        {{CUDNN_ATTR_OPERATION_MATMUL_ADESC, &a},
         {CUDNN_ATTR_OPERATION_MATMUL_BDESC, &b},
         {CUDNN_ATTR_OPERATION_MATMUL_CDESC, &c}});
  }
  Tensor reduce(cudnnReduceTensorOp_t op, Tensor x) {
    Tensor y = between(rows_);
    Descriptor what(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    what.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, &op);
    what.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    what.finalize();
    add(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, CUDNN_ATTR_OPERATION_REDUCTION_DESC, what,
        {{CUDNN_ATTR_OPERATION_REDUCTION_XDESC, &x}, {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, &y}});
    return y;
  }

  struct Function {
    cudnnPointwiseMode_t mode;
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    int64_t axis = -1;
  };
  // `b` and `condition` are null of functions that have none.
  Tensor elementwise(const Function& function, Tensor x, const Descriptor* b, const Descriptor* condition, Tensor y) {
    Descriptor what(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    what.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, &function.mode);
    what.set(CUDNN_ATTR_POINTWISE_MATH_PREC, function.type);
    if (function.axis >= 0) what.set(CUDNN_ATTR_POINTWISE_AXIS, function.axis);
    what.finalize();
    std::vector<std::pair<cudnnBackendAttributeName_t, const Descriptor*>> tensors = {
        {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, &x}, {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, &y}};
    if (b) tensors.emplace_back(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    if (condition) tensors.emplace_back(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, condition);
    add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, what, tensors);
    return y;
  }
  Tensor apply(cudnnPointwiseMode_t mode, Tensor x, const Sizes& sizes) {
    return elementwise({mode}, x, nullptr, nullptr, between(sizes));
  }
  Tensor apply(cudnnPointwiseMode_t mode, Tensor x, Tensor b, const Sizes& sizes) {
    return elementwise({mode}, x, &b, nullptr, between(sizes));
  }

  // The same numbers by other strides.
  Tensor reshaped(Tensor x, const Sizes& sizes, const Sizes& strides) {
    Tensor y = between(sizes, strides, type_);
    Descriptor& out = operations_.emplace_back(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    out.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    out.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
    out.finalize();
    return y;
  }
  // (N,H,T,S) -> (N,H,S,T)
  Tensor turned(Tensor matrix) {
    Sizes sizes = matrix_, strides = dense(matrix_);
    std::swap(sizes[2], sizes[3]), std::swap(strides[2], strides[3]);
    return reshaped(matrix, sizes, strides);
  }

  // scale q k'
  Tensor scores(Tensor q, Tensor k) {
    Tensor z = between(matrix_);
    product(q, k, z);
    return apply(CUDNN_POINTWISE_MUL, z, scale_, matrix_);
  }
  // z where a query sees a key.
  Tensor seen(Tensor z) {
    if (!c_.causal) return z;
    const auto index = [&](int64_t axis) -> Tensor {
      return elementwise({CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, axis}, z, nullptr, nullptr,
                         between(matrix_, CUDNN_DATA_INT32));
    };
    Tensor query = index(2), key = index(3);
    Tensor sees = elementwise({CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN}, query, &key, nullptr,
                              between(matrix_, CUDNN_DATA_BOOLEAN));
    Tensor unseen = number(kUnseenNumber);
    return elementwise({CUDNN_POINTWISE_BINARY_SELECT}, z, &unseen, &sees, between(matrix_));
  }

  void add_forward() {
    Tensor q = of_queries(AttentionArray::q), k = of_keys(AttentionArray::k, true);
    Tensor z = seen(scores(q, k));
    Tensor most = reduce(CUDNN_REDUCE_TENSOR_MAX, z);
    Tensor each = apply(CUDNN_POINTWISE_EXP, apply(CUDNN_POINTWISE_SUB, z, most, matrix_), matrix_);
    Tensor total = reduce(CUDNN_REDUCE_TENSOR_ADD, each);
    Tensor log = apply(CUDNN_POINTWISE_LOG, total, rows_);
    elementwise({CUDNN_POINTWISE_ADD}, most, &log, nullptr, of_rows(AttentionArray::sums));
    Tensor weights = elementwise({CUDNN_POINTWISE_DIV}, each, &total, nullptr, between(matrix_, dense(matrix_), type_));
    product(weights, of_keys(AttentionArray::v, false), of_queries(AttentionArray::y));
  }

  void add_gradient() {
    Tensor q = of_queries(AttentionArray::q), k = of_keys(AttentionArray::k, true),
           v = of_keys(AttentionArray::v, true), y = of_queries(AttentionArray::y), g = of_queries(AttentionArray::g),
           sums = of_rows(AttentionArray::sums);
    const int64_t row = c_.heads * c_.size;
    Tensor both = elementwise({CUDNN_POINTWISE_MUL}, g, &y, nullptr,
                              between({c_.samples, c_.heads, c_.queries, c_.size},
                                      {c_.queries * row, c_.queries * c_.size, row, 1}, CUDNN_DATA_FLOAT));
    Tensor inner = reduce(CUDNN_REDUCE_TENSOR_ADD, both), one = number(kOne);
    Tensor inner_sums = elementwise({CUDNN_POINTWISE_MUL}, inner, &one, nullptr, of_rows(AttentionArray::inner_sums));

    Tensor weights = apply(CUDNN_POINTWISE_EXP, seen(apply(CUDNN_POINTWISE_SUB, scores(q, k), sums, matrix_)), matrix_);
    product(turned(weights), g, of_keys(AttentionArray::dv, false));

    Tensor of_weights = between(matrix_);
    product(g, v, of_weights);
    Tensor dz =
        apply(CUDNN_POINTWISE_MUL, apply(CUDNN_POINTWISE_SUB, of_weights, inner_sums, matrix_), weights, matrix_);
    Tensor scaled = apply(CUDNN_POINTWISE_MUL, dz, scale_, matrix_);
    product(turned(scaled), q, of_keys(AttentionArray::dk, false));

    const int64_t key_row = c_.key_heads * c_.size;
    Tensor keys = reshaped(k, {c_.samples, c_.key_heads, c_.keys, c_.size}, {c_.keys * key_row, c_.size, key_row, 1});
    const Sizes sizes = {c_.samples, c_.heads, c_.queries, c_.size};
    Tensor sum = tensor(int64_t(AttentionArray::sums_of_dq), sizes, dense(sizes), CUDNN_DATA_FLOAT, Lies::in_memory);
    product(scaled, keys, sum);
    elementwise({CUDNN_POINTWISE_IDENTITY}, sum, nullptr, nullptr, of_queries(AttentionArray::dq));
  }

  const AttentionCase c_;
  const cudnnDataType_t type_;
  std::deque<Descriptor> tensors_, operations_;  // whose places stay
  int64_t next_ = kFirstVirtual;
  Tensor scale_;
  const Sizes matrix_, rows_;  // (N,H,T,S), (N,H,T,1)
};

}  // namespace

std::vector<Plan> attention_plans(const AttentionCase& c, cudnnHandle_t handle, const PlanNeeds& needs) {
  return AttentionGraph(c).plans(handle, needs);
}

AttentionNumbers::AttentionNumbers(const AttentionCase& c)
    : causal_(c.causal), gradient_(c.gradient), scale_(float(c.scale)), unseen_(kUnseen) {}

void AttentionNumbers::add_to(std::vector<int64_t>& ids, std::vector<void*>& addresses) {
  const auto add = [&](int64_t id, float& number) { ids.push_back(id), addresses.push_back(&number); };
  add(kScale, scale_);
  if (causal_) add(kUnseenNumber, unseen_);
  if (gradient_) add(kOne, one_);
}

}  // namespace neon::cuda
