// Generated kernels compile: every row of the elementwise table in every type, and every op case. Needs no GPU.
#include <catch2/catch.hpp>
#include <regex>
#include <set>

#include "backends/cuda/compile.h"
#include "backends/cuda/op_source.h"
#include "backends/elementwise/kernels.h"
#include "backends/graph/expression.h"
#include "backends/graph/windows.h"
#include "layers/layer.h"
#include "tests/backends/both_gradients_cases.h"
#include "tests/backends/cuda/quick_compile.h"
#include "tests/backends/cuda/wide_cases.h"
#include "tests/backends/dense_cases.h"
#include "tests/backends/join_cases.h"
#include "tests/backends/net_of_branches.h"
#include "tests/backends/normed_pooling_cases.h"
#include "tests/backends/op_cases.h"
#include "tests/backends/pooled_cases.h"
#include "tests/backends/prologue_cases.h"
#include "tests/support/variable.h"

using namespace neon;
using namespace neon::test;

namespace {

// Sources of all kernels of a graph, save products, which are cuBLASLt's.
std::vector<std::string> sources_of(const Graph& graph, bool tf32 = false) {
  const Lowered lowered = lower(graph, cuda::gpu_lowering(true, tf32));
  std::map<std::string, int> scalars;
  cuda::SourceContext context{lowered, scalars, {}, 0, {}, {}};
  std::vector<std::string> out;
  for (const LoweredKernel& kernel : lowered.kernels)
    out.push_back((kernel.fused ? cuda::fused_source(*kernel.fused, context) : cuda::op_source(kernel, context)).text);
  return out;
}

void check_compiles(const std::vector<std::string>& sources, int least_arch = 0, Code code = Code::machine) {
  for (int arch : {NEON_CUDA_ARCH}) {
    if (arch >= least_arch) CHECK(compile_error(sources, arch, code) == "");
  }
}

// The first parameter that a kernel reads after it wrote it: the place of what is stored may be that of what is read.
std::string read_after_write(const std::string& kernel) {
  // put<T, R>(p0, ...), get_all<R, T, 4>(p0, ...); where the rows begin that do not fill a group; the end of a walk
  const std::regex access("(put|get)[a-z_]*<[^>]*>\\((p[0-9]+),|for \\(int n = first;|fold_|meet<");
  std::set<std::string> written, of_other_rows;
  for (std::sregex_iterator i(kernel.begin(), kernel.end(), access), end; i != end; ++i) {
    const std::string what = i->str(1), name = i->str(2);
    if (what == "put") written.insert(name);
    else if (what == "get" && written.count(name)) return name;
    else if (i->str(0).starts_with("for")) of_other_rows.merge(written), written.clear();
    else if (what.empty()) written.merge(of_other_rows);
  }
  return "";
}

// The array that blocks wrote before they met and read as what it was before: where its elements are not asked for as
// the kernel has stored them. "" where there is none.
std::string read_as_it_was(const std::string& kernel) {
  const std::regex access("(put|pack_at|get)[a-z_]*<[^>]*>\\((p[0-9]+), (first_e)?|meet<");
  std::set<std::string> written, before_meeting;
  for (std::sregex_iterator i(kernel.begin(), kernel.end(), access), end; i != end; ++i) {
    const std::smatch& found = *i;
    if (found.str(0) == "meet<") before_meeting = written;
    else if (found.str(1) == "put") written.insert(found.str(2));
    else if (!found[3].matched && before_meeting.count(found.str(2))) return found.str(2);
  }
  return "";
}

}  // namespace

TEST_CASE("of kernels that are compiled at once, the one that is wrong is quoted") {
  const std::string head = cuda::source_head(), begin = "extern \"C\" __global__ void kernel(float* p) { *p = ";
  const std::vector<std::string> good = {head + begin + "1; }", head + begin + "2; }", begin + "3; }"};
  CHECK(compile_error({}, 90) == "");
  CHECK(compile_error(good, 90) == "");
  for (const char* wrong : {"nothing(); }", "1; asm(\"no.instruction;\"); }",
                            "1; __shared__ char much[1 << 20]; much[p[1]] = 1; p[2] = much[p[3]]; }"}) {
    INFO(wrong);
    for (const std::string& before : {head, std::string()}) {
      const std::string text = compile_error({good[0], before + begin + wrong, good[1], good[2]}, 90);
      CHECK(text.ends_with("\n" + begin + wrong));
      CHECK(text.size() > begin.size() + std::string(wrong).size() + 10);
    }
  }
}

TEST_CASE("every elementwise op compiles in every type") {
  std::vector<std::string> sources;
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    Graph graph;
    size_t count = 0;
    for (const Op* op : all_ops()) {
      if (!op->is_elementwise()) continue;
      const size_t arity = op->derivative_operand < 0 ? size_t(op->row->arity)
                                                      : derivative_inputs(*op->row, op->derivative_operand).size();
      std::vector<Value> inputs;
      for (size_t i = 0; i < arity; ++i) inputs.push_back(graph.input(text("in", i), dtype, {4, 8}));
      graph.output(std::string(op->name), graph.add(op->name, inputs));
      ++count;
    }
    CHECK(count > 100);
    for (std::string& source : sources_of(graph)) sources.push_back(std::move(source));
  }
  check_compiles(sources, 0, Code::ptx);
}

TEST_CASE("results in 16 bits take shorter functions where there are some, others exact ones") {
  const auto source_of = [](const char* op, DType dtype) {
    Graph graph;
    graph.output("y", graph.add(op, {graph.input("x", dtype, {4, 8})}));
    return sources_of(graph).at(0);
  };
  for (const char* op : {"exp", "logistic", "tanh", "swish", "gelu", "gelu_tanh"}) {
    INFO(op);
    for (const DType dtype : {DType::f16, DType::bf16})
      CHECK(source_of(op, dtype).find(text("neon_math::coarse::", op, "_value<R>(")) != std::string::npos);
    for (const DType dtype : {DType::f32, DType::f64}) CHECK(source_of(op, dtype).find("coarse") == std::string::npos);
  }
  for (const char* op : {"relu", "square", "log", "erf"})
    CHECK(source_of(op, DType::f16).find("coarse") == std::string::npos);
}

TEST_CASE("every stored type is read and written") {
  const DType all[] = {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i8, DType::u8};
  Graph graph;
  for (DType from : all)
    for (DType to : all)
      graph.output(text(from, " ", to), cast(graph, graph.input(std::string(name_of(from)), from, {7}), to));
  check_compiles(sources_of(graph));
}

TEST_CASE("the kernels of every op case compile", "[op]") {
  std::vector<std::string> sources;
  for (const OpCase& c : all_cases()) {
    const Op* op = find_op(c.op);
    if (op && op->is_elementwise()) continue;
    Graph graph;
    build_case(graph, c, DType::f32);
    for (std::string& source : sources_of(graph)) sources.push_back(std::move(source));
  }
  check_compiles(sources, 0, Code::ptx);
}

// Machine code of one case of each op: the types differ by loads, stores and the arithmetic, which are the same in all
// of its kernels.
TEST_CASE("the kernels of an op compile in every type", "[op]") {
  std::vector<std::string> sources;
  std::set<std::string> seen;
  for (const OpCase& c : all_cases()) {
    if (find_op(c.op)->is_elementwise()) continue;
    Graph probe;
    if (probe.shape(build_case(probe, c, DType::f32)[0]).elements() == 0 || !seen.insert(c.op).second) continue;
    for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      Graph graph;
      build_case(graph, c, dtype);
      for (std::string& source : sources_of(graph)) sources.push_back(std::move(source));
    }
  }
  check_compiles(sources);
}

TEST_CASE("the kernels of learned and drawn slopes, and of their gradients, compile") {
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    Graph graph;
    LayerContext context(graph, true, dtype, 3);
    const Expr x(graph, graph.variable("x", dtype, {4, 6, 5, 8}));
    Expr y = x;
    for (const char* name : {"PReLU", "RReLU"}) {
      context.layer = name;
      const Setting layer = Setting::map({{"Activation", Setting::scalar(name)}});
      y = Registry<Layer>::get().create(layer)->forward(context, y);
    }
    const Value wanted[] = {x, graph.variable("PReLU/slope", context.master_dtype, {8})};
    const std::vector<Value> slopes = gradients(graph, sum(y, all_axes(y.shape())), wanted);
    graph.output("y", y), graph.output("dx", slopes[0]), graph.output("dslope", slopes[1]);
    const std::vector<std::string> sources = sources_of(graph);
    REQUIRE(!sources.empty());
    check_compiles(sources);
  }
}

TEST_CASE("kernels of large arrays compile, and have the accesses that they should") {
  std::vector<std::string> sources;
  for (DType dtype : {DType::f32, DType::f16})
    for (const WideCase& c : wide_cases(dtype)) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      Graph graph;
      build_wide(graph, c);
      bool found = false;
      for (std::string& source : sources_of(graph)) {
        const std::string kernel = source.substr(source.find("void __launch_bounds__(kThreads"));
        found = found || kernel.find(c.text) != kernel.npos;
        CHECK(read_after_write(kernel) == "");
        CHECK(read_as_it_was(kernel) == "");
        sources.push_back(std::move(source));
      }
      CHECK(found);
    }
  check_compiles(sources);
}

// Names of variables end in an instruction's number, and that of a type may, too: f16.
TEST_CASE("kernels compile whichever of their instructions reads an array") {
  std::vector<std::string> sources;
  bool sixteenth = false;
  for (int operations = 10; operations <= 16; ++operations) {
    Graph graph;
    Expr x(graph, graph.input("x", DType::f16, {20000, 48})), z(graph, graph.input("z", DType::f16, {20000, 48}));
    for (int n = 0; n < operations; ++n) x = n % 2 ? abs(x) : x + 1.0;
    const Expr product = x * z;
    graph.output("product", product), graph.output("sum", sum(product, {0}));
    for (std::string& source : sources_of(graph)) {
      sixteenth = sixteenth || std::regex_search(source, std::regex("Pack<f16, [0-9]+> [a-z]+16\\["));
      sources.push_back(std::move(source));
    }
  }
  CHECK(sixteenth);
  check_compiles(sources);
}

TEST_CASE("max pooling in 16 bits goes along strips of windows, where they overlap and are enough") {
  std::vector<std::string> sources;
  const auto strips = [&](DType dtype, const Shape& x, int64_t window, int64_t stride, const std::string& text) {
    Graph graph;
    const std::vector<int64_t> windows = {window, window, 1}, strides = {stride, stride, 1};
    const Attributes attributes = {{"window", windows}, {"strides", strides}, {"padding", std::vector<int64_t>(6, 0)}};
    graph.output("y", graph.add_all("pool_max", {graph.input("x", dtype, x)}, attributes)[0]);
    sources.push_back(sources_of(graph).at(0));
    INFO(sources.back().substr(sources.back().find("kernel(")));
    CHECK((sources.back().find(text) != sources.back().npos));
  };
  strips(DType::f16, {128, 30, 30, 256}, 3, 1, "largest_of_strip<f16, 8, 7, 3, 1>");
  strips(DType::bf16, {128, 29, 29, 132}, 3, 2, "largest_of_strip<bf16, 4, 7, 3, 2>");
  strips(DType::f16, {128, 28, 28, 256}, 2, 2, "largest_of_strip<f16, 8, 1, 2, 2>");
  strips(DType::f16, {1, 30, 30, 256}, 3, 1, "largest_of_strip<f16, 8, 1, 3, 1>");
  strips(DType::f16, {128, 30, 30, 255}, 3, 1, "where[e] = at");
  strips(DType::f32, {128, 30, 30, 256}, 3, 1, "where[e] = at");
  check_compiles(sources);
}

// An array that NVRTC leaves in a thread's memory stays there: ptxas brings it into no registers.
TEST_CASE("kernels of depthwise convolutions keep numbers in registers, and have images copied ahead") {
  const neon_test::Variable cache("NEON_CACHE_DIR", "/dev/null");
  constexpr int kWithoutCode = 92;  // for this there is PTX alone
  const Windows windows = {.size = {3, 3}, .strides = {1, 1}, .before = {1, 1}, .after = {1, 1}, .dilation = {1, 1}};
  for (DType dtype : {DType::f16, DType::bf16}) {
    INFO(name_of(dtype));
    const Shape shape{8, 56, 56, 144}, filters{144, 3, 3, 1};
    const Attributes attributes = {{"strides", windows.strides},
                                   {"padding", std::vector<int64_t>(4, 1)},
                                   {"dilation", windows.dilation},
                                   {"groups", int64_t(144)}};
    const BothGradientsCase both{"",
                                 shape,
                                 filters,
                                 shape,
                                 attributes.with("sizes", std::vector<int64_t>{56, 56}),
                                 attributes.with("sizes", windows.size)};
    Graph graph;
    const Value x = graph.input("x", dtype, shape), w = graph.input("w", dtype, filters);
    graph.output("y", convolution(graph, x, w, windows, 144));
    graph.output("gradient", deconvolution(graph, x, w, windows, 144, {56, 56}));
    std::vector<std::string> sources = sources_of(graph);
    std::ranges::move(sources_of(both_gradients(both, dtype)), std::back_inserter(sources));
    const std::vector<std::string> codes = cuda::compile_sources(sources, kWithoutCode);
    CHECK(codes.size() == 3);
    for (const std::string& code : codes) {
      CHECK(code.find(".local") == code.npos);
      CHECK(code.find("cp.async") != code.npos);
    }
  }
}

TEST_CASE("kernels of both gradients of depthwise convolutions compile, and are one where registers hold them") {
  std::vector<std::string> sources;
  for (DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const BothGradientsCase& c : both_gradients_cases()) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      std::vector<std::string> found = sources_of(both_gradients(c, dtype));
      CHECK(found.size() == (c.together ? 1 : 2));
      std::ranges::move(found, std::back_inserter(sources));
    }
  check_compiles(sources, 0, Code::ptx);
}

TEST_CASE("a kernel that writes into a concatenation finds its rows there") {
  std::vector<std::string> sources;
  for (const JoinCase& c : join_cases())
    for (std::string& source : sources_of(build_branches(c.build, DType::f16)))
      if (source.find("i64(u32(") != source.npos) sources.push_back(std::move(source));
  // 24 channels from the 8th of 32 on: element i lies in pixel i / 24.
  Graph graph;
  const Value x = graph.input("x", DType::f16, {128, 128, 8}), y = graph.input("y", DType::f16, {128, 128, 24});
  graph.output("joined", graph.add("concat", {Expr(graph, x) * 2, abs(Expr(graph, y))}, {{"axis", int64_t(2)}}));
  const std::string place = "i64(u32(first_e) / 24 * 32 + u32(first_e) % 24 + 8)";
  bool found = false;
  for (std::string& source : sources_of(graph)) {
    found = found || source.find("put_all<f16, R, 8>(p1, " + place + ", s0)") != source.npos;
    sources.push_back(std::move(source));
  }
  CHECK(found);
  check_compiles(sources);
}

TEST_CASE("places in arrays of more than 2^31 elements are computed in 64 bits") {
  const int64_t large = (int64_t(1) << 31) + 16;
  std::vector<std::string> sources;
  const auto add = [&](const Graph& graph) {
    for (const std::string& source : sources_of(graph)) sources.push_back(source);
    return sources.back().substr(sources.back().rfind("__global__"));
  };
  for (const Shape& shape : {Shape{2, large}, Shape{large, 2}}) {
    Graph graph;
    const Expr x(graph, graph.input("x", DType::u8, shape));
    graph.output("y", sum(cast(x, DType::f32), {shape[0] == 2 ? 1 : 0}));
    CHECK(add(graph).find("i64(lane) + i64(") != std::string::npos);
  }
  Graph product;  // of nothing, as libraries have no such
  product.output("c", matmul(product, product.input("a", DType::f16, {65536, 0}),
                             product.input("b", DType::f16, {0, 65536}), false, false));
  CHECK(add(product).find("i64(m) * 65536 + n") != std::string::npos);
  check_compiles(sources);
}

TEST_CASE("products that take derivatives and sums along compile") {
  std::vector<std::string> sources;
  for (DType dtype : {DType::f16, DType::f64})
    for (const DenseCase& c : dense_cases())
      for (std::string& source : sources_of(build_branches(c.build, dtype)))
        if (source.find("gate[4]") != source.npos || source.find(": R(1)") != source.npos)
          sources.push_back(std::move(source));
  CHECK(sources.size() > 20);
  check_compiles(sources);
}

TEST_CASE("first convolutions that take max pooling along compile") {
  std::vector<std::string> sources;
  for (DType dtype : {DType::f16, DType::bf16, DType::f32})
    for (const PooledConvolutionCase& c : pooled_convolution_cases())
      for (std::string& source : sources_of(build_branches(c.build, dtype), true))
        if (source.find("pooled_product<") != source.npos || source.find("pooled_gradient<") != source.npos)
          sources.push_back(std::move(source));
  CHECK(sources.size() == 2 * (11 + 9) + (10 + 8));
  check_compiles(sources, 80);
}

TEST_CASE("patches that make what they see compile") {
  std::vector<std::string> sources;
  for (DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64})
    for (const PrologueCase& c : prologue_cases())
      for (std::string& source : sources_of(build_branches(c.build, dtype)))
        if (source.find("int kSeenRows") != source.npos) sources.push_back(std::move(source));
  CHECK(sources.size() == 4 * 2 * prologue_cases().size());  // of images and of filters
  check_compiles(sources);
}

TEST_CASE("max pooling that computes what it reads, and gradients that make its gradient, compile") {
  std::vector<std::string> sources;
  int computing = 0, spreading = 0, walking = 0;
  for (DType dtype : {DType::f16, DType::bf16, DType::f32})
    for (const NormedPoolingCase& c : normed_pooling_cases())
      for (std::string& source : sources_of(build_branches(c.build, dtype))) {
        const bool computes = source.find("given(x0, ") != source.npos,
                   walks = source.find("where_of[window]") != source.npos,
                   spreads = source.find("keep_placed(numbers, ") != source.npos;
        if (dtype != DType::f32) computing += computes, spreading += spreads, walking += walks;
        if (computes || spreads || walks) sources.push_back(std::move(source));
      }
  CHECK(computing == 2 * 11);
  CHECK(spreading == 2 * 12);
  CHECK(walking == 2 * 2 * 3);  // one folds, one finishes
  check_compiles(sources);
}

TEST_CASE("max pooling's gradients that take derivatives and sums along compile") {
  std::vector<std::string> sources;
  for (DType dtype : {DType::f16, DType::bf16, DType::f64})
    for (const PooledCase& c : pooled_cases())
      for (std::string& source : sources_of(build_branches(c.build, dtype)))
        if (source.find("const bool sees") != source.npos) {
          CHECK((source.find("R gate[") != source.npos) == c.derivative);
          CHECK((source.find("__shared__ R folded[") != source.npos) == c.sums);
          sources.push_back(std::move(source));
        }
  CHECK(sources.size() == 3 * pooled_cases().size());
  check_compiles(sources);
}
