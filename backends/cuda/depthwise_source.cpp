#include "backends/cuda/depthwise_source.h"

#include <algorithm>

#include "backends/cuda/code_text.h"
#include "backends/graph/windows.h"

extern const char depthwise_text[];
extern const unsigned long depthwise_text_size;

namespace neon::cuda {

namespace {

constexpr int64_t kMostPlaces = 7;  // of a filter along an axis
constexpr int64_t kMostStride = 3;
constexpr int64_t kMostRegisters = 114;              // of 128, for sums, filters and what is read
constexpr int64_t kRowsOfStart = 2;                  // in whose time a thread reads its filters
constexpr int64_t kAhead = 2;                        // groups of rows that are asked for before they are taken
constexpr int64_t kMostInt = 1 << 30;                // the largest place of an array that is computed as an int
constexpr int64_t kRowsBeside = 16;                  // of an image, so many rows beside it are asked for at most
constexpr int64_t kLeastCopy = 4;                    // bytes of a copy to shared memory
constexpr int64_t kLeastWidth = 2, kLeastStrip = 2;  // of a thread that makes both gradients
constexpr int64_t kShareOfSet = 16;                  // shares of a filter's gradient that one block adds up

struct Shapes {
  const Shape &x, &w, &y;
};

Shapes shapes_of(const LoweredKernel& kernel, const Graph& graph) {
  const Shape &a = graph.shape(kernel.inputs[0]), &b = graph.shape(kernel.inputs[1]),
              &c = graph.shape(kernel.outputs[0]);
  const ConvolutionKind kind = kernel.traits().convolution;
  if (kind == ConvolutionKind::forward) return {a, b, c};
  return kind == ConvolutionKind::by_input ? Shapes{c, b, a} : Shapes{a, c, b};
}

Windows windows_of(const LoweredKernel& kernel, const Shapes& shapes) {
  return windows_of(kernel.attributes, {shapes.w.begin() + 1, shapes.w.end() - 1});
}

int64_t open_rows(const Windows& windows) { return quotient_up(windows.size[0], windows.strides[0]); }

// Columns of the results' gradient that see a strip of the image.
int64_t seeing_columns(const Windows& windows, int64_t strip) {
  const int64_t stride = windows.strides[1];
  return (windows.size[1] - 1) / stride + (strip - 1) / stride + 1;
}

// Packs that a thread reads of a group of rows.
int64_t packs_of_group(const LoweredKernel& kernel, const Windows& windows, int64_t strip) {
  const int64_t of_image = windows.strides[0] * ((strip - 1) * windows.strides[1] + windows.size[1]);
  if (kernel.convolution() == ConvolutionKind::forward) return of_image;
  if (kernel.convolution() == ConvolutionKind::by_filters) return of_image + strip;
  const bool both = kernel.takes(Attachment::Kind::filters);
  return seeing_columns(windows, strip) + (both ? windows.strides[0] * strip : 0);
}

// Registers for what a thread keeps of so many channels and columns: sums, filters, and what it has read of a group of
// rows and of the next. Both gradients also need rows of the results' gradient, and sums of the filter's.
int64_t registers(const LoweredKernel& kernel, const Windows& windows, int64_t width, int64_t strip,
                  int64_t bytes_of_pack) {
  const bool to_image = kernel.convolution() == ConvolutionKind::by_input;
  const int64_t places = windows.size[0] * windows.size[1];
  const int64_t read = 2 * packs_of_group(kernel, windows, strip) * quotient_up(bytes_of_pack, 4);
  if (kernel.takes(Attachment::Kind::filters))
    return (open_rows(windows) * seeing_columns(windows, strip) + 2 * places) * width + read;
  return open_rows(windows) * (to_image ? windows.strides[0] : 1) * strip * width + places * width + read;
}

// How a kernel spreads over threads: the channels and columns of a thread, and how far ahead it reads.
class DepthwisePlan {
 public:
  DepthwisePlan(const LoweredKernel& kernel, SourceContext& context)
      : kernel_(kernel),
        shapes_(shapes_of(kernel, context.lowered.graph)),
        windows_(windows_of(kernel, shapes_)),
        code_(context, DType::f32),
        processors_(context.processors) {
    choose_width_and_strip();
    choose_ahead(context.arch);
  }

 protected:
  int64_t images() const { return shapes_.x[0]; }
  int64_t packs() const { return shapes_.x.back() / width_; }
  int64_t places() const { return windows_.size[0] * windows_.size[1]; }
  int64_t numbers() const { return places() * width_; }

  bool to_image() const { return kernel_.convolution() == ConvolutionKind::by_input; }
  bool both() const { return kernel_.takes(Attachment::Kind::filters); }
  int64_t open_rows() const { return cuda::open_rows(windows_); }

  int64_t pack_bytes(int64_t width) const { return width * int64_t(size_of(code_.type(kernel_.inputs[0]).dtype)); }

  int64_t packs_of_group(int64_t strip) const { return cuda::packs_of_group(kernel_, windows_, strip); }

  // As many neighbouring channels and columns as registers hold.
  void choose_width_and_strip() {
    const int64_t most = code_.neighbours(operands(kernel_)), channels = shapes_.x.back();
    const int64_t stride = kernel_.convolution() == ConvolutionKind::by_input ? windows_.strides[1] : 1;
    for (const int64_t width : {4, 2, 1})
      for (const int64_t columns : {4, 2}) {
        width_ = width, strip_ = quotient_up(columns, stride) * stride;
        if (width <= most && channels % width == 0 &&
            registers(kernel_, windows_, width_, strip_, pack_bytes(width_)) <= kMostRegisters)
          return;
      }
  }

  // How many groups of rows a thread asks for before it takes them: several where shared memory has room for them. The
  // gradient of the filter multiplies more than it reads, and gains nothing.
  void choose_ahead(int arch) {
    if (kernel_.convolution() == ConvolutionKind::by_filters || arch < kLeastTensorArch) return;
    const int64_t bytes = (kAhead + 1) * packs_of_group(strip_) * pack_bytes(width_) * kThreads;
    if (pack_bytes(width_) < kLeastCopy || bytes > most_held(arch, DType::f32)) return;
    ahead_ = kAhead, room_bytes_ = bytes;
  }

  // The rows of a thread: as many as make the turns of those that run at the same time shortest, where each turn begins
  // with filters and with rows that other threads read, too. `at_once`: shares of strips that run at the same time.
  void choose_rows(int64_t rows, int64_t strips, int64_t at_once) {
    int64_t least = 0;
    strips_ = strips;
    for (int64_t shares = 1; shares <= rows; ++shares) {
      const int64_t each = quotient_up(rows, shares);
      if (quotient_up(rows, each) != shares) continue;
      const int64_t turns = quotient_up(images() * strips * shares, std::max<int64_t>(at_once, 1));
      const int64_t read = each + open_rows() - 1;
      const int64_t walked = to_image() ? read : quotient_up(read, open_rows()) * open_rows();
      const int64_t cost = turns * (walked + kRowsOfStart);
      if (!least || cost < least) least = cost, rows_ = each, shares_ = shares;
    }
  }
  int64_t threads_at_once() const { return kThreads * kBlocksOfProcessor * processors_; }

  // Rows and columns of the image's gradient are counted from the first at or before 0 that is the first of a
  // window's.
  int64_t above() const { return windows_.before[0] % windows_.strides[0]; }
  int64_t beside() const { return windows_.before[1] % windows_.strides[1]; }
  int64_t groups() const { return quotient_up(shapes_.x[1] + above(), windows_.strides[0]); }
  int64_t first_group() const { return windows_.before[0] / windows_.strides[0]; }
  int64_t strips_of_image() const { return quotient_up(shapes_.x[2] + beside(), strip_); }
  std::string row_of_image() const { return text("p * ", windows_.strides[0], " - ", windows_.before[0], " + v"); }
  std::string column_of_image() const { return text("strip * ", strip_, " - ", beside()); }

  const LoweredKernel& kernel_;
  const Shapes shapes_;
  const Windows windows_;
  CodeText code_;
  const int64_t processors_;
  int width_ = 1, tickets_ = 1;
  int64_t ahead_ = 1, room_bytes_ = 0, strip_ = 1, strips_ = 1, rows_ = 1, shares_ = 1, blocks_ = 1;
  size_t partial_bytes_ = 0;
};

class DepthwiseWriter : DepthwisePlan {
 public:
  using DepthwisePlan::DepthwisePlan;

  Source run() {
    const ConvolutionKind kind = kernel_.convolution();
    std::string body = text("  void* const room = ", room_bytes_ ? "shared_memory" : "nullptr", ";\n");
    if (room_bytes_) body = "  extern __shared__ uint4 shared_memory[];\n" + body;
    if (both()) body += both_gradients();
    else body += kind == ConvolutionKind::forward ? convolution() : to_image() ? data_gradient() : filter_gradient();
    const std::string sizes =
        text("struct Case {\n  static constexpr int filter_rows = ", windows_.size[0],
             ", filter_columns = ", windows_.size[1], ", row_stride = ", windows_.strides[0],
             ", column_stride = ", windows_.strides[1], ", strip = ", strip_, ", ahead = ", ahead_, ";\n};\n");
    Source out = kernel_source(code_, DType::f32, std::string(depthwise_text, depthwise_text_size) + sizes, body,
                               blocks_, text("kThreads, ", kBlocksOfProcessor));
    out.partial_bytes = partial_bytes_;
    out.tickets = tickets_;
    out.shared_bytes = room_bytes_;
    return out;
  }

 private:
  static const char* index_type(int64_t count) { return count < (int64_t(1) << 31) ? "u32" : "i64"; }

  // A thread's first channel c, strip, first row and image n.
  std::string coordinates() {
    const int64_t threads = images() * shares_ * strips_ * packs();
    blocks_ = quotient_up(threads, kThreads);
    const char* index = index_type(threads + kThreads);
    return text("  ", index, " rest = ", index, "(blockIdx.x) * kThreads + threadIdx.x;\n  if (rest >= ", threads,
                ") return;\n  const int c = int(rest % ", packs(), ") * ", width_, ";\n  rest /= ", packs(),
                ";\n  const int strip = int(rest % ", strips_, ");\n  rest /= ", strips_,
                ";\n  const int first = int(rest % ", shares_, ") * ", rows_, ", n = int(rest / ", shares_, ");\n");
  }

  // Filters lie one after the other (C,R,S,1).
  std::string filter() {
    return text("  R filter[", places(), "][", width_, "];\n#pragma unroll\n  for (int k = 0; k < ", places(),
                "; ++k) {\n    R numbers[", width_, "];\n    ",
                code_.load_pack(kernel_.inputs[1], text("c * ", places(), " + k * ", width_), width_, "numbers"),
                ";\n#pragma unroll\n    for (int e = 0; e < ", width_, "; ++e) filter[(k * ", width_, " + e) % ",
                places(), "][(k * ", width_, " + e) / ", places(), "] = numbers[e];\n  }\n");
  }

  // A lambda of the place of the pack at (n, `row`, `first` + `offset`, c) of an array, outside where not `inside`. The
  // pixel in column `first` has an address of its own, from which the others lie a number apart that the compiler
  // knows.
  std::string at(const char* name, const char* arguments, Value value, const Shape& shape, const std::string& row,
                 const std::string& first, const char* offset, const std::string& inside) {
    const int64_t farthest = shape[0] * (shape[1] + kRowsBeside) * shape[2] * shape[3];
    const char* index = farthest < kMostInt ? "int" : "i64";
    const std::string pixel =
        text("((", index, "(n) * ", shape[1], " + row) * ", shape[2], " + left) * ", shape.back(), " + c");
    return text("  const auto ", name, " = [&](", arguments, ") {\n    const int row = ", row, ", left = ", first,
                ";\n    return Place{", code_.element(value, pixel), " + i64(", offset, ") * ", shape.back(), ", ",
                inside, " && u32(left + ", offset, ") < ", shape[2], "u};\n  };\n");
  }
  static std::string place(const Shape& shape) {
    return text("((", index_type(shape.elements()), "(n) * ", shape[1], " + row) * ", shape[2], " + column) * ",
                shape.back(), " + c");
  }

  // Reads of the image's rows that windows `first` up to `ends` see.
  std::string fetch_image(Value x) {
    return text(
        "  const int limit = max(min(", shapes_.x[1], ", (ends - 1) * ", windows_.strides[0], " + ",
        windows_.size[0] - windows_.before[0], "), 0);\n",
        at("at", "int r, int j", x, shapes_.x, text("r - ", windows_.before[0]),
           text("strip * ", strip_ * windows_.strides[1], " - ", windows_.before[1]), "j", "u32(row) < u32(limit)"));
  }

  std::string convolution() {
    const int64_t rows = shapes_.y[1];
    choose_rows(rows, quotient_up(shapes_.y[2], strip_), threads_at_once() / packs());
    std::string end;
    if (kernel_.bias())
      end += text("    R bias[", width_, "];\n    ", code_.load_pack(kernel_.bias(), "c", width_, "bias"),
                  ";\n#pragma unroll\n    for (int e = 0; e < ", width_, "; ++e) numbers[e] += bias[e];\n");
    if (kernel_.relu())
      end += text("#pragma unroll\n    for (int e = 0; e < ", width_,
                  "; ++e) numbers[e] = neon_math::relu_value<R>(numbers[e], R(0), R(0));\n");
    return text(coordinates(), "  const int ends = min(first + ", rows_, ", ", rows, ");\n", filter(),
                fetch_image(kernel_.inputs[0]), "  const auto give = [&](int row, int t, const R (&sums)[", width_,
                "]) {\n    const int column = strip * ", strip_, " + t;\n    if (column >= ", shapes_.y[2],
                ") return;\n    R numbers[", width_, "];\n#pragma unroll\n    for (int e = 0; e < ", width_,
                "; ++e) numbers[e] = sums[e];\n", end, "    ",
                code_.store_pack(kernel_.outputs[0], place(shapes_.y), width_, "numbers"),
                ";\n  };\n  depthwise<Case, ", code_.pack_type(kernel_.inputs[0], width_),
                ">(filter, first, ends, room, at, give);\n");
  }

  // Reads of the results' gradient that give what rows of the image take.
  std::string spread_to_image() {
    const int64_t columns = strip_ / windows_.strides[1], column0 = windows_.before[1] / windows_.strides[1];
    return text(at("at", "int p, int j", kernel_.inputs[0], shapes_.y, "p",
                   text("strip * ", columns, " + ", column0, " - kColumnsBefore<Case>"), "j",
                   text("row < ends && u32(row) < ", shapes_.y[1], "u")),
                "  const auto give = [&](int p, int v, int t, const R (&sums)[", width_,
                "]) {\n    const int row = ", row_of_image(), ", column = ", column_of_image(),
                " + t;\n    if (u32(row) >= ", shapes_.x[1], "u || u32(column) >= ", shapes_.x[2], "u) return;\n    ",
                code_.store_pack(kernel_.outputs[0], place(shapes_.x), width_, "sums"), ";\n  };\n");
  }

  std::string data_gradient() {
    choose_rows(groups(), strips_of_image(), threads_at_once() / packs());
    return text(coordinates(), "  const int ends = min(first + ", rows_, ", ", groups(), ") + ", first_group(), ";\n",
                filter(), spread_to_image(), "  depthwise_data<Case, ", code_.pack_type(kernel_.inputs[0], width_),
                ">(filter, first + ", first_group(), ", ends, room, at, give);\n");
  }

  std::string both_gradients() {
    const Value x = kernel_.find(Attachment::Kind::filters)->value;
    return in_shares(groups(), strips_of_image(), first_group(), filter(),
                     text(spread_to_image(),
                          at("at_x", "int p, int v, int t", x, shapes_.x, row_of_image(), column_of_image(), "t",
                             text("p >= first && p < ends && u32(row) < ", shapes_.x[1], "u")),
                          "  depthwise_both<Case, ", code_.pack_type(x, width_),
                          ">(filter, sums, first, ends, room, at, at_x, give);\n"));
  }

  std::string filter_gradient() {
    return in_shares(
        shapes_.y[1], quotient_up(shapes_.y[2], strip_), 0, "",
        text(fetch_image(kernel_.inputs[0]),
             at("at_y", "int p, int t", kernel_.inputs[1], shapes_.y, "p", text("strip * ", strip_), "t", "row < ends"),
             "  depthwise_filter<Case, ", code_.pack_type(kernel_.inputs[0], width_),
             ">(sums, first, ends, room, at, at_y);\n"));
  }

  // Sums of the filter's gradient: blocks have a bundle of packs each, and share its rows, which are counted from row0.
  // The last block of a set of them adds up what they have, and the last of these what the sets have. `begin` is
  // code that runs once for a thread, `rest` code that runs for a strip's rows from `first` up to `ends`.
  std::string in_shares(int64_t rows, int64_t strips, int64_t row0, const std::string& begin, const std::string& rest) {
    const int64_t bundles = quotient_up(packs(), 32), across = quotient_up(packs(), bundles), lanes = kThreads / across;
    const int64_t most = std::max<int64_t>(kBlocksOfProcessor * processors_ / bundles, 1);
    choose_rows(rows, strips, most * lanes);
    const int64_t items = images() * shares_ * strips_, shares = std::min(most, quotient_up(items, lanes));
    const int64_t sets = quotient_up(shares, kShareOfSet), row = bundles * across;
    blocks_ = bundles * shares;
    tickets_ = int(1 + bundles * (sets + 1));
    partial_bytes_ = size_t((shares + sets) * numbers() * row) * sizeof(float);
    const std::string constants = text("  constexpr int kAcross = ", across, ", kLanes = ", lanes,
                                       ", kBundles = ", bundles, ", kShares = ", shares, ", kSets = ", sets,
                                       ", kOfSet = ", kShareOfSet, ", kNumbers = ", numbers(), ", kRow = ", row, ";\n");
    return text(
        constants, "  __shared__ Scratch<R> scratch;\n",
        "  const int bundle = blockIdx.x % kBundles, share = blockIdx.x / kBundles, lane = threadIdx.x / kAcross;\n",
        "  const int c = (bundle * kAcross + threadIdx.x % kAcross) * ", width_, ";\n  R sums[", places(), "][", width_,
        "] = {};\n  if (lane < kLanes && c < ", shapes_.x.back(), ") {\n", begin,
        "  for (int item = share * kLanes + lane; item < ", items, "; item += kShares * kLanes) {\n",
        "  const int strip = item % ", strips_, ", row0 = item / ", strips_, " % ", shares_, " * ", rows_,
        ", first = row0 + ", row0, ", n = item / ", strips_ * shares_, ", ends = min(row0 + ", rows_, ", ", rows,
        ") + ", row0, ";\n", rest, "  }\n  }\n", add_up());
  }

  std::string add_up() {
    return text(
        "  add_lanes<kAcross, kLanes>(sums, scratch, [&](int m, R number) {\n",
        "    partials[(i64(share) * kNumbers + m) * kRow + bundle * kAcross + threadIdx.x] = number;\n  });\n",
        "  const int set = share / kOfSet, first_share = set * kOfSet, of_set = min(kOfSet, kShares - first_share);\n",
        "  if (!is_last_of(ticket + 1 + bundle * (kSets + 1) + set, u32(of_set))) return;\n",
        "  R* const sets = partials + i64(kShares) * kNumbers * kRow;\n",
        "  for (int n = threadIdx.x; n < kNumbers * kAcross; n += kThreads) {\n",
        "    const i64 at = i64(n / kAcross) * kRow + bundle * kAcross + n % kAcross;\n",
        "    sets[i64(set) * kNumbers * kRow + at] = sum_of(partials + i64(first_share) * kNumbers * kRow + at, "
        "of_set, ",
        "i64(kNumbers) * kRow);\n  }\n",
        "  if (!is_last_of(ticket + 1 + bundle * (kSets + 1) + kSets, kSets)) return;\n",
        "  for (int n = threadIdx.x; n < kNumbers * kAcross; n += kThreads) {\n",
        "    const int m = n / kAcross, pack = bundle * kAcross + n % kAcross;\n    if (pack >= ", packs(),
        ") continue;\n", "    const R number = sum_of(sets + i64(m) * kRow + pack, kSets, i64(kNumbers) * kRow);\n",
        code_.store(kernel_.outputs.back(),
                    text("(pack * ", width_, " + m % ", width_, ") * ", places(), "ll + m / ", width_), "number",
                    "    "),
        "  }\n");
  }
};

}  // namespace

bool is_depthwise(const LoweredKernel& kernel, const Graph& graph) {
  if (kernel.convolution() == ConvolutionKind::none) return false;
  const Shapes shapes = shapes_of(kernel, graph);
  const int64_t channels = shapes.x.back();
  if (shapes.x.rank() != 4 || channels == 1 || shapes.y.back() != channels ||
      kernel.attributes.integer("groups") != channels || shapes.x.elements() == 0 || shapes.y.elements() == 0)
    return false;
  if (std::ranges::any_of(operands(kernel), [&](Value value) { return graph.dtype(value) == DType::f64; }))
    return false;
  const Windows windows = windows_of(kernel, shapes);
  const auto all = [](const std::vector<int64_t>& numbers, int64_t most) {
    return std::ranges::all_of(numbers, [&](int64_t n) { return n <= most; });
  };
  return all(windows.size, kMostPlaces) && all(windows.strides, kMostStride) && all(windows.dilation, 1);
}

bool makes_both_gradients(const LoweredKernel& kernel, const Graph& graph, const DeviceKernels&) {
  if (!is_depthwise(kernel, graph)) return false;
  const Windows windows = windows_of(kernel, shapes_of(kernel, graph));
  const int64_t strip = quotient_up(kLeastStrip, windows.strides[1]) * windows.strides[1];
  const int64_t bytes = kLeastWidth * int64_t(size_of(graph.dtype(kernel.inputs[0])));
  LoweredKernel both = kernel;
  both.attachments.push_back({.kind = Attachment::Kind::filters});
  return graph.shape(kernel.outputs[0]).back() % kLeastWidth == 0 && bytes >= kLeastCopy &&
         registers(both, windows, kLeastWidth, strip, bytes) <= kMostRegisters;
}

Source depthwise_source(const LoweredKernel& kernel, SourceContext& context) {
  return DepthwiseWriter(kernel, context).run();
}

}  // namespace neon::cuda
