#include "backends/cuda/depthwise_source.h"

#include "backends/cuda/depthwise_plan.h"
#include "backends/cuda/pixel_code.h"

extern const char depthwise_text[];
extern const unsigned long depthwise_text_size;

namespace neon::cuda {

namespace {

constexpr int64_t kMostInt = 1 << 30;  // the largest place of an array that is computed as an int
constexpr int64_t kRowsBeside = 16;    // of an image, so many rows beside it are asked for at most
constexpr int64_t kShareOfSet = 16;    // shares of a filter's gradient that one block adds up

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
                code_.load_pack(arrays_.w, text("c * ", places(), " + k * ", width_), width_, "numbers"),
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

  // The array that a thread reads to have the image: itself, or that by which a prologue computes it.
  Value array_of_image() const {
    if (kernel_.prologue()) return *PixelCode::arrays_of(*kernel_.prologue()).begin();
    return both() ? kernel_.find(Attachment::Kind::filters)->value : arrays_.x;
  }
  std::string pack_of_image() const { return code_.pack_type(array_of_image(), width_); }

  PixelCode image() { return PixelCode(*kernel_.prologue(), code_, "of_image"); }
  PixelCode folds() { return PixelCode(*kernel_.folds(), code_, "of_folds"); }

  // The text that reads, once for a thread, the numbers by which it computes an image and folds its gradient.
  std::string once() {
    return text(kernel_.prologue() ? image().once(width_) : "", kernel_.folds() ? folds().once(width_) : "");
  }

  // The lambda get(pack, PLACE, x), which makes the numbers of the image of the pack that AT(PLACE) is the place of.
  std::string get(const char* arguments, const char* place, const char* at) {
    const std::string head =
        text("  const auto get = [&](const ", pack_of_image(), "& pack, ", arguments, ", R (&x)[", width_, "]) {\n");
    if (!kernel_.prologue()) return head + "    unpack<R>(pack, x);\n  };\n";
    return text(head, "    const bool inside = ", at, "(", place, ").inside;\n    R numbers[", width_,
                "];\n    unpack<R>(pack, numbers);\n#pragma unroll\n    for (int j = 0; j < ", width_, "; ++j) {\n",
                image().each([](Value) { return "numbers"; }), "      x[j] = inside ? r",
                kernel_.prologue()->segments[0].stores[0].reg, " : R(0);\n    }\n  };\n");
  }

  // Reads of the image's rows that windows `first` up to `ends` see.
  std::string fetch_image() {
    const Value x = array_of_image();
    return text(
        "  const int limit = max(min(", shapes_.x[1], ", (ends - 1) * ", windows_.strides[0], " + ",
        windows_.size[0] - windows_.before[0], "), 0);\n",
        at("at", "int r, int j", x, shapes_.x, text("r - ", windows_.before[0]),
           text("strip * ", strip_ * windows_.strides[1], " - ", windows_.before[1]), "j", "u32(row) < u32(limit)"),
        get("int r, int j", "r, j", "at"));
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
    return text(coordinates(), "  const int ends = min(first + ", rows_, ", ", rows, ");\n", filter(), once(),
                fetch_image(), "  const auto give = [&](int row, int t, const R (&sums)[", width_,
                "]) {\n    const int column = strip * ", strip_, " + t;\n    if (column >= ", shapes_.y[2],
                ") return;\n    R numbers[", width_, "];\n#pragma unroll\n    for (int e = 0; e < ", width_,
                "; ++e) numbers[e] = sums[e];\n", end, "    ",
                code_.store_pack(kernel_.outputs[0], place(shapes_.y), width_, "numbers"),
                ";\n  };\n  depthwise<Case, ", pack_of_image(), ">(filter, first, ends, room, at, get, give);\n");
  }

  // Reads of the results' gradient that give what rows of the image take.
  std::string spread_to_image() {
    const int64_t columns = strip_ / windows_.strides[1], column0 = windows_.before[1] / windows_.strides[1];
    return text(
        at("at", "int p, int j", arrays_.y, shapes_.y, "p",
           text("strip * ", columns, " + ", column0, " - kColumnsBefore<Case>"), "j",
           text("row < ends && u32(row) < ", shapes_.y[1], "u")),
        "  const auto give = [&](int p, int v, int t, const R (&made)[", width_, "]",
        both() ? text(", const ", pack_of_image(), "& pack") : "", ") {\n    const int row = ", row_of_image(),
        ", column = ", column_of_image(), " + t;\n    if (u32(row) >= ", shapes_.x[1],
        "u || u32(column) >= ", shapes_.x[2], "u) return;\n    ",
        kernel_.folds() ? fold() : code_.store_pack(kernel_.outputs[0], place(shapes_.x), width_, "made") + ";\n",
        "  };\n");
  }

  // Stores what is made of a pixel, and adds it to the folds as it is stored.
  std::string fold() {
    const Value made = kernel_.outputs[0];
    const Segment& folds_of = kernel_.folds()->segments[0];
    std::string adds;
    for (size_t n = 0; n < folds_of.stores.size(); ++n)
      adds += text("      sums[", places() + int64_t(n), "][j] += r",
                   folds_of.body[size_t(folds_of.stores[n].reg)].inputs[0], ";\n");
    return text(
        "const ", code_.pack_type(made, width_), " stored = packed<", device_type(code_.type(made).dtype),
        ">(made);\n    ", code_.store_packed(made, place(shapes_.x), "stored"), ";\n    R given[", width_,
        "], numbers[", width_,
        "];\n    unpack<R>(stored, given);\n    unpack<R>(pack, numbers);\n#pragma unroll\n    for (int j = 0; j < ",
        width_, "; ++j) {\n", folds().each([&](Value array) { return array == made ? "given" : "numbers"; }), adds,
        "    }\n");
  }

  std::string data_gradient() {
    choose_rows(groups(), strips_of_image(), threads_at_once() / packs());
    return text(coordinates(), "  const int ends = min(first + ", rows_, ", ", groups(), ") + ", first_group(), ";\n",
                filter(), spread_to_image(), "  depthwise_data<Case, ", code_.pack_type(arrays_.y, width_),
                ">(filter, first + ", first_group(), ", ends, room, at, give);\n");
  }

  std::string both_gradients() {
    const Value x = array_of_image();
    return in_shares(groups(), strips_of_image(), first_group(), filter() + once(),
                     text(spread_to_image(),
                          at("at_x", "int p, int v, int t", x, shapes_.x, row_of_image(), column_of_image(), "t",
                             text("p >= first && p < ends && u32(row) < ", shapes_.x[1], "u")),
                          get("int p, int v, int t", "p, v, t", "at_x"), "  depthwise_both<Case, ", pack_of_image(),
                          ">(filter, sums, first, ends, room, at, at_x, get, give);\n"));
  }

  std::string filter_gradient() {
    return in_shares(
        shapes_.y[1], quotient_up(shapes_.y[2], strip_), 0, once(),
        text(fetch_image(),
             at("at_y", "int p, int t", arrays_.y, shapes_.y, "p", text("strip * ", strip_), "t", "row < ends"),
             "  depthwise_filter<Case, ", code_.pack_type(arrays_.y, width_),
             ">(sums, first, ends, room, at, get, at_y);\n"));
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
        "  const int c = (bundle * kAcross + threadIdx.x % kAcross) * ", width_, ";\n  R sums[", sums(), "][", width_,
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
        text("    const int k = m / ", width_, ", channel = pack * ", width_, " + m % ", width_, ";\n"), put_sum(),
        "  }\n");
  }

  // Stores a number of sum k of a channel: of the filter's gradient, or a fold.
  std::string put_sum() {
    const Value filters = kernel_.outputs[both() ? 1 : 0];
    const std::string of_filter = code_.store(filters, text("channel * ", places(), "ll + k"), "number", "    ");
    if (!kernel_.folds()) return of_filter;
    std::string out = text("    if (k < ", places(), ") {\n", of_filter, "    }\n");
    const auto& stores = kernel_.folds()->segments[0].stores;
    for (size_t n = 0; n < stores.size(); ++n)
      out += text("    if (k == ", places() + int64_t(n), ") {\n",
                  code_.store(stores[n].value, "channel", "number", "      "), "    }\n");
    return out;
  }
};

}  // namespace

Source depthwise_source(const LoweredKernel& kernel, SourceContext& context) {
  return DepthwiseWriter(kernel, context).run();
}

}  // namespace neon::cuda
