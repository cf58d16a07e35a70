#include "tests/backends/cuda/wide_cases.h"

#include "neon/core/error.h"

namespace neon::test {

std::vector<WideCase> wide_cases(DType d) {
  const auto columns_of = [](Graph&, const std::vector<Expr>& x) { return sum(x[0], {0}); };
  const auto normal_rows = [](Graph&, const std::vector<Expr>& x) {
    Expr centred = cast(x[0], compute_type(x[0].dtype())) - mean(cast(x[0], compute_type(x[0].dtype())), {1});
    return cast(centred / sqrt(mean(square(centred), {1}) + 0.25), x[0].dtype());
  };
  std::vector<WideCase> out;
  out.push_back({"a chain of three arrays",
                 {{"a", d, {300, 1024}}, {"b", d, {300, 1024}}, {"c", d, {300, 1024}}},
                 [](Graph&, const std::vector<Expr>& x) { return apply("relu", (x[0] + x[1]) * x[2]); },
                 1,
                 "get_all<"});
  out.push_back({"no pack divides the size",
                 {{"a", d, {601, 601}}, {"b", d, {601, 601}}},
                 [](Graph&, const std::vector<Expr>& x) { return x[0] - x[1]; }});
  out.push_back({"a row repeated, a column repeated, one number",
                 {{"a", d, {3000, 104}}, {"row", d, {104}}, {"column", d, {3000, 1}}, {"one", d, {1}}},
                 [](Graph&, const std::vector<Expr>& x) { return (x[0] + x[1]) * x[2] - x[3]; },
                 1,
                 "get_all<"});
  out.push_back({"rows looked up in bytes",
                 {{"a", DType::u8, {1000, 784}}, {"rows", DType::i32, {512}}},
                 [](Graph& graph, const std::vector<Expr>& x) {
                   return cast(Expr(graph, gather(graph, x[0], x[1])), DType::f32) / 256.0;
                 },
                 1,
                 "get_all<R, u8, 4>"});
  out.push_back({"numbers at random",
                 {{"a", d, {600, 512}}},
                 [](Graph& graph, const std::vector<Expr>& x) {
                   Expr draw(graph, uniform(graph, x[0].shape(), 3, "mask"));
                   return x[0] * cast(apply("less", draw, draw.constant(0.5)), x[0].dtype());
                 },
                 1,
                 "uniform_all("});
  for (int64_t width : {301, 1024, 2048, 8192, 20000})
    out.push_back({"normal rows of " + std::to_string(width), {{"a", d, {700, width}}}, normal_rows, width});
  out.push_back({"many short rows", {{"a", d, {40000, 10}}}, [](Graph&, const std::vector<Expr>& x) {
                   return x[0] - max(x[0], {1});
                 }});
  for (int64_t width : {1, 3, 10, 64, 100, 1000})
    out.push_back({"tall columns, " + std::to_string(width),
                   {{"a", d, {50000, width}}},
                   columns_of,
                   50000,
                   width > 1 ? "is_last_of(ticket + 1" : ""});
  out.push_back({"largest of tall columns", {{"a", d, {30000, 24}}}, [](Graph&, const std::vector<Expr>& x) {
                   return max(x[0], {0});
                 }});
  out.push_back({"a gradient stored and its columns added up",
                 {{"g", d, {20000, 48}}, {"y", d, {20000, 48}}},
                 [](Graph& graph, const std::vector<Expr>& x) {
                   Expr gradient = x[0] * apply("less", x[1].constant(0), x[1]);
                   graph.output("gradient", gradient);
                   return sum(gradient, {0}) * 0.5 + 1.0;
                 },
                 20000,
                 "is_last_of(ticket + 1"});
  out.push_back({"four who read columns of a sum, and add them up",
                 {{"a", d, {20000, 256}}, {"b", d, {20000, 256}}},
                 [](Graph& graph, const std::vector<Expr>& x) {
                   const Expr both = x[0] + x[1];
                   std::vector<Value> sums;
                   for (int64_t first : {0, 64, 128, 192}) {
                     const Attributes columns = {{"axis", int64_t(1)}, {"first", first}, {"count", int64_t(64)}};
                     const Expr part = apply("relu", Expr(graph, graph.add("slice", {both}, columns)));
                     graph.output(text("part", first), part);
                     sums.push_back(sum(part, {0}));
                   }
                   return Expr(graph, graph.add("concat", sums, {{"axis", int64_t(1)}}));
                 },
                 20000,
                 "is_last_of(ticket + 4"});
  const auto normal_columns = [](Expr x) {
    Expr wide = cast(x, compute_type(x.dtype()));
    Expr centred = wide - mean(wide, {0});
    return cast(centred / sqrt(mean(square(centred), {0}) + 0.25), x.dtype());
  };
  // Means of numbers of size 1 are off by far less than their sums.
  for (const Shape& shape : {Shape{6000, 64}, Shape{131072, 16}, Shape{20000, 3}, Shape{9999, 257}, Shape{40000, 96},
                             Shape{1501, 4104}, Shape{300000, 64}})
    out.push_back({text("normal columns ", shape),
                   {{"a", d, shape}},
                   [=](Graph&, const std::vector<Expr>& x) { return normal_columns(x[0]); },
                   200,
                   "meet<true>(ticket"});
  out.push_back({"normal columns of two arrays, and where each is largest",
                 {{"a", d, {20000, 32}}, {"b", d, {20000, 32}}},
                 [=](Graph& graph, const std::vector<Expr>& x) {
                   const Expr a = normal_columns(x[0]), b = normal_columns(x[1]);
                   graph.output("largest", max(a, {0}) + max(b, {0}));
                   return a + b;
                 },
                 200,
                 "meet<true>(ticket"});
  // An axis in the middle, of which columns are short, are shared by blocks, or wait for each other.
  for (const Shape& shape : {Shape{3000, 4, 64}, Shape{5, 3000, 48}, Shape{700, 90, 7}})
    out.push_back({text("largest along the middle of ", shape),
                   {{"a", d, shape}, {"b", d, {shape[0], 1, shape[2]}}},
                   [](Graph& graph, const std::vector<Expr>& x) {
                     graph.output("sum", sum(x[0], {1}));
                     return max(x[0], {1}) * x[1];
                   },
                   shape[1]});
  for (const Shape& shape : {Shape{400, 30, 64}, Shape{3, 20000, 16}, Shape{7, 9999, 5}})
    out.push_back({text("normal along the middle of ", shape),
                   {{"a", d, shape}, {"b", d, {shape[0], 1, 1}}},
                   [](Graph&, const std::vector<Expr>& x) {
                     const Expr wide = cast(x[0], compute_type(x[0].dtype())), centred = wide - mean(wide, {1});
                     return cast(centred / sqrt(mean(square(centred), {1}) + 0.25), x[0].dtype()) * x[1];
                   },
                   200,
                   shape[1] > 1000 ? "meet<true>(ticket" : ""});
  // What the kernel stores may take the place of an array that another kernel made for it, and that it reads again.
  for (const auto& [axis, shape] : {std::pair{0, Shape{64, 131072}}, std::pair{1, Shape{40000, 16}}})
    out.push_back({text("a sum stored, and made normal along axis ", axis),
                   {{"a", d, shape}, {"b", d, shape}},
                   [axis = axis](Graph& graph, const std::vector<Expr>& x) {
                     const Expr a(graph, transpose(graph, x[0], {1, 0})), b(graph, transpose(graph, x[1], {1, 0}));
                     const Expr both = a + b;
                     graph.output("both", both);
                     return both - cast(mean(cast(both, compute_type(both.dtype())), {axis}), both.dtype());
                   },
                   200});
  for (const Shape& shape : {Shape{20000, 144}, Shape{100001, 64}})
    out.push_back({text("a masked sum stored, and made normal with another array, ", shape),
                   {{"a", d, shape}, {"b", d, shape}, {"x", d, shape}, {"y", d, shape}},
                   [](Graph& graph, const std::vector<Expr>& x) {
                     const Expr kept = (x[0] + x[1]) * apply("less", x[3].constant(0), x[3]);
                     graph.output("kept", kept);
                     const DType wide = compute_type(kept.dtype());
                     const Expr g = cast(kept, wide), centred = cast(x[2], wide) - mean(cast(x[2], wide), {0});
                     return cast(g - mean(g, {0}) - centred * mean(g * centred, {0}), kept.dtype());
                   },
                   800,
                   "meet<true>(ticket"});
  // Not stored before the last walk where it takes the place of an array that this walk reads.
  for (const bool assigned : {false, true})
    out.push_back(
        {text("a sum of three stored, ", assigned ? "and kept by a variable, " : "", "times one of them, made normal"),
         {{"a", d, {64, 40000}}, {"b", d, {64, 40000}}, {"c", d, {64, 40000}}},
         [assigned](Graph& graph, const std::vector<Expr>& x) {
           std::vector<Expr> rows;
           for (const Expr& one : x) rows.push_back({graph, transpose(graph, one, {1, 0})});
           const Expr all = rows[0] + rows[1] + rows[2];
           graph.output("all", all);
           if (assigned) graph.assign(graph.variable("kept", all.dtype(), all.shape()), all);
           return all * rows[0] - cast(mean(cast(all, compute_type(all.dtype())), {0}), all.dtype());
         },
         200,
         "meet<true>(ticket"});
  out.push_back({"columns, and all of it",
                 {{"a", d, {20000, 32}}},
                 [](Graph& graph, const std::vector<Expr>& x) {
                   graph.output("all", sum(cast(x[0], compute_type(x[0].dtype())), {0, 1}));
                   return sum(x[0], {0});
                 },
                 640000});
  return out;
}

std::vector<Value> build_wide(Graph& graph, const WideCase& c) {
  std::vector<Expr> inputs;
  for (const WideInput& input : c.inputs) inputs.push_back({graph, graph.input(input.name, input.dtype, input.shape)});
  graph.output("y", c.build(graph, inputs));
  std::vector<Value> out;
  for (const auto& [name, value] : graph.outputs()) out.push_back(value);
  return out;
}

Tensor wide_data(const WideInput& input, int64_t rows) {
  Tensor out(input.dtype, input.shape);
  for (int64_t i = 0; i < out.elements(); ++i) {
    const int64_t mixed = (i * 7919 + i / 1009 * 31 + int64_t(input.name.size()) * 17) % 251;
    out.set(i, input.dtype == DType::i32  ? double(mixed * 97 % rows)
               : is_floating(input.dtype) ? double(mixed - 125) / 64
                                          : double(mixed));
  }
  return out;
}

}  // namespace neon::test
