// The ceiling that BENCHMARKS.md compares with: GFLOP/s of one f32 product of 2048 x 2048 matrices by oneDNN, the
// median of 15. Threads as OMP_NUM_THREADS says.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

int main() {
  using dnnl::memory;
  const int64_t n = 2048;
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const memory::desc desc({n, n}, memory::data_type::f32, memory::format_tag::ab);
  const dnnl::matmul::primitive_desc primitive(dnnl::matmul::desc(desc, desc, desc), engine);
  dnnl::matmul product(primitive);
  memory a(desc, engine), b(desc, engine), c(desc, engine);
  for (memory* array : {&a, &b}) std::fill_n(static_cast<float*>(array->get_data_handle()), n * n, 0.5f);
  std::vector<double> seconds;
  for (int i = 0; i < 18; ++i) {
    const auto before = std::chrono::steady_clock::now();
    product.execute(stream, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
    stream.wait();
    if (i >= 3) seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
  }
  std::sort(seconds.begin(), seconds.end());
  std::printf("%.1f\n", 2.0 * double(n) * double(n) * double(n) / seconds[seconds.size() / 2] * 1e-9);
}
