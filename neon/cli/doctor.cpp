// neon doctor: what neon found on this machine, modules and CUDA's libraries too, and why a GPU is not used; a short
// test of the GPU against the CPU; how fast several GPUs exchange arrays.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>

#include "backends/cpu/onednn_part.h"
#include "backends/device/cuda_libraries.h"
#include "backends/device/device.h"
#include "backends/elementwise/kernels.h"
#include "backends/graph/expression.h"
#include "backends/graph/windows.h"
#include "datasets/fetch_part.h"
#include "datasets/hash_part.h"
#include "datasets/hdf5_file.h"
#include "datasets/image_part.h"
#include "neon/cli/exchange_times.h"
#include "neon/cli/gpu_links.h"
#include "neon/cli/rank_launch.h"
#include "neon/cli/rank_process.h"
#include "neon/cli/verb.h"
#include "neon/core/module_files.h"
#include "neon/core/numa.h"
#include "neon/core/paths.h"
#include "neon/core/threads.h"
#include "neon/core/version.h"
#include "neon/train/atomic_file.h"
#include "neon/train/log_part.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

void line(const char* what, const std::string& found) { print_result(formatted("%-16s ", what) + found); }

struct SelfTest {
  const char* what;
  Shape left, right;
  int64_t length;  // of the sums
  bool softmax;    // of the product
  Expr (*product)(Expr left, Expr right);
};

Expr matrix_product(Expr x, Expr w) { return Expr(x.graph(), matmul(x.graph(), x, w)); }

// Sizes that kernels of neon's own take, and such as are left to CUDA's libraries.
const SelfTest kSelfTests[] = {
    {"a small product and a softmax", {32, 48}, {48, 16}, 48, true, matrix_product},
    {"a matrix product", {512, 768}, {768, 256}, 768, false, matrix_product},
    {"a convolution",
     {8, 16, 16, 16},
     {32, 3, 3, 16},
     144,
     false,
     [](Expr x, Expr w) {
       const Windows windows{.size = {3, 3}, .strides = {1, 1}, .before = {1, 1}, .after = {1, 1}, .dilation = {1, 1}};
       return Expr(x.graph(), convolution(x.graph(), x, w, windows, 1));
     }},
};

// From -1 to 1, without an order in which some would stand again: a golden-section walk, by its own step.
std::vector<float> numbers(const Shape& shape, uint32_t step) {
  std::vector<float> out(size_t(shape.elements()));
  for (size_t i = 0; i < out.size(); ++i) out[i] = float(uint32_t(i + 1) * step >> 8) / float(1 << 23) - 1;
  return out;
}

// And which implementations computed it.
Tensor result_of(const SelfTest& test, const DeviceOptions& device, std::string& implementations) {
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, test.left)), w(graph, graph.input("w", DType::f32, test.right));
  const Expr product = test.product(x, w);
  graph.output("y", test.softmax ? Expr(graph, graph.add("softmax", {product})) : product);
  Variables variables;
  const auto program = compile_program(graph, variables, device);
  implementations = join(program->implementations(), ", ");
  const std::vector<float> left = numbers(test.left, 2654435769u), right = numbers(test.right, 1367130551u);
  program->bind("x", left.data());
  program->bind("w", right.data());
  program->run(0);
  return program->output("y").clone();  // it may be the program's memory
}

// By how much two devices may differ. A sum of n products, none above 1, is off by sqrt(n) n u or so in f32
// with the unit roundoff u, whatever the order; exp() of the sum is off by its value times that.
double tolerance(const SelfTest& test, double value) {
  constexpr double kMost = 8;
  const double u = unit_roundoff(DType::f32);
  const double of_sum = kMost * std::sqrt(double(test.length)) * double(test.length) * u;
  return test.softmax ? 2 * of_sum * std::abs(value) + kMost * u : of_sum;
}

// Describes the first value that differs from the CPU's; "" where all agree.
std::string difference(const SelfTest& test, const Tensor& gpu, const Tensor& cpu) {
  int64_t first = -1, count = 0;
  for (int64_t i = cpu.elements() - 1; i >= 0; --i)
    if (!(std::abs(gpu.at(i) - cpu.at(i)) <= tolerance(test, cpu.at(i)))) first = i, ++count;
  if (count == 0) return "";
  return text(count, " of ", cpu.elements(), " values are wrong; value ", first, " is ", gpu.at(first), ", the CPU's ",
              cpu.at(first), ": this GPU computes wrongly");
}

// Returns whether a GPU gives the CPU's results.
bool test_gpu(int index) {
  bool good = true;
  for (const SelfTest& test : kSelfTests) {
    const std::string head = text("self-test of ", test.what);
    try {
      std::string implementations;
      const Tensor cpu = result_of(test, {}, implementations);
      const Tensor gpu = result_of(test, {.gpu = true, .gpu_index = index, .name = head}, implementations);
      const std::string wrong = difference(test, gpu, cpu);
      line("", text(head, " (", implementations, "): ", wrong.empty() ? "agrees with the CPU" : wrong));
      good = good && wrong.empty();
    } catch (const Error& error) {
      line("", text(head, ": ", error.what()));
      good = false;
    }
  }
  return good;
}

// Why nothing can be kept in a folder, or made where it is to be; "" where it can.
std::string problem_of_folder(const std::string& folder) {
  struct stat status;
  if (stat(folder.c_str(), &status) != 0) {
    if (errno != ENOENT) return system_message(errno);
    const size_t slash = folder.find_last_of('/');
    const std::string above = slash == folder.npos ? "." : slash == 0 ? "/" : folder.substr(0, slash);
    const std::string problem = above == folder ? "it is not there" : problem_of_folder(above);
    return problem.empty() || above.empty() ? problem : text(above, ": ", problem);
  }
  if (!S_ISDIR(status.st_mode)) return "it is no folder";
  return access(folder.c_str(), W_OK | X_OK) == 0 ? "" : system_message(errno);
}

std::string cache_text() {
  std::string folder, problem;
  try {
    folder = cache_dir();
    problem = problem_of_folder(folder);
  } catch (const Error& error) {
    folder = "none", problem = error.what();
  }
  return problem.empty() ? folder : text(folder, ": cannot be used: ", problem, "; nothing is kept from run to run");
}

std::string driver_text(GpuModule& module) {
  const std::string own = driver_version();
  return text(own, own.empty() ? "" : ", ", module.driver_version());
}

// The node of a GPU, "" on a machine of one node.
std::string node_text(const GpuInfo& gpu) {
  const int node = node_of_device(gpu.pci);
  return numa_nodes().size() > 1 && node >= 0 ? text(", NUMA node ", node) : "";
}

// Opens the modules that every build has, and prints which could be opened and why others could not.
template <typename... Tables>
bool print_modules() {
  std::vector<std::string> opened;
  bool good = true;
  const auto try_one = [&](const PartName& name, auto open) {
    try {
      open();
      opened.emplace_back(name.module);
    } catch (const Error& error) {
      line("modules", error.what());
      good = false;
    }
  };
  (try_one(Tables::kName, [] { part<Tables>(); }), ...);
  if (good) line("modules", join(opened, ", "));
  return good;
}

std::string mpi_text() {
  const OpenedModule mpi = open_module("mpi", "backends/mpi");
  if (mpi.path.empty()) return "none, for mpirun and srun: neon was built without libopenmpi-dev; -m N needs none";
  return mpi.handle ? mpi.path : mpi.problem;
}

// A process for each GPU measures how fast they exchange arrays: all of them run this command, as ranks.
int measure_exchanges(CommandLine command, size_t gpus) {
  command.ranks = int64_t(gpus);
  command.ranks_option = text("--gpus ", gpus);
  flush_results();
  return start_ranks(command);
}

int run_as_rank(const CommandLine& command) {
  Ranks& ranks = *own_ranks();
  RunOptions options;
  take_gpu_of_rank(command, options);
  const bool every = command.verbose > 1;
  const auto times = time_exchanges(ranks, {.gpu = true, .gpu_index = int(options.device_id)}, every);
  if (!ranks.leads()) return 0;
  if (every)
    for (const std::string& row : bandwidth_table(times, ranks.size())) print_result(row);
  else line("exchanges", text("sums over ", ranks.size(), " GPUs: ", bandwidth_summary(times, ranks.size())));
  return 0;
}

int run_doctor(const CommandLine& command) {
  if (own_ranks()) return run_as_rank(command);
  if (!command.operands.empty())
    fail(ErrorKind::config, in_quotes(command.operands.front()),
         " is one operand too many; usage: ", usage_of(*find_verb(command.verb)));
  line("neon", text(version(), cuda_version().empty() ? "" : ", built with CUDA " + cuda_version()));
  line("threads", std::to_string(available_threads()));
  line("instructions", text("x86-64-", elementwise::active_level().name));
  line("cache", cache_text());
  const bool whole = print_modules<cpu::OnednnPart, FetchPart, HashPart, Hdf5Part, ImagePart, LogPart>();
  line("MPI", mpi_text());
  const std::vector<FoundLibrary> libraries = find_cuda_libraries();
  for (const FoundLibrary& found : libraries)
    line(found.name.c_str(), found.problem.empty() ? text(found.version, ", ", found.path) : found.problem);
  std::string why_not;
  GpuModule* module = gpu_module(why_not);
  if (!module) {
    const bool no_driver = why_not.find("no NVIDIA driver was found") != why_not.npos;
    line("GPU", text("not used: ", why_not, no_driver ? " (docs/gpu.md)" : ""));
    return whole ? 0 : exit_code(ErrorKind::failed);
  }
  line("driver", driver_text(*module));
  const auto devices = module->devices();
  bool good = true;
  for (size_t i = 0; i < devices.size(); ++i) {
    const GpuInfo& gpu = devices[i];
    line(text("GPU ", i).c_str(),
         text(gpu.name, ", compute capability ", gpu.arch / 10, ".", gpu.arch % 10, ", ", bytes_text(double(gpu.bytes)),
              node_text(gpu), gpu.unusable.empty() ? "" : "; not used: " + gpu.unusable));
    if (gpu.unusable.empty()) good = test_gpu(int(i)) && good;
  }
  if (devices.size() > 1)
    for (const std::string& found : link_lines(module->links())) line("links", found);
  if (const std::string several = several_gpus_text(devices, libraries); !several.empty())
    line("several GPUs", several);
  if (!good) return exit_code(ErrorKind::device);
  if (can_join(devices, libraries))
    if (const int code = measure_exchanges(command, devices.size()); code != 0) return code;
  return whole ? 0 : exit_code(ErrorKind::failed);
}

}  // namespace

NEON_VERB(run_doctor, "doctor", 100, takes_nothing, "",
          "print the processor, GPU and libraries found here, test the GPU, say why it is not used");

}  // namespace neon
