// Reading the header. The JSON is read as a stream of events, so that its depth, its doubled names and its
// size are checked while it is read, and no tree is ever built from a file that somebody else made.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "neon/train/safetensors_header.h"

namespace neon {

namespace {

struct DTypeName {
  std::string_view name;
  DType dtype;
};
constexpr DTypeName kDTypes[] = {{"F64", DType::f64}, {"F32", DType::f32}, {"F16", DType::f16}, {"BF16", DType::bf16},
                                 {"I64", DType::i64}, {"I32", DType::i32}, {"I8", DType::i8},   {"U8", DType::u8}};

// Events that no text accepts stop the reading with one message; the first one counts.
class Events : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::string problem;

  bool null() override { return stop("null"); }
  bool boolean(bool) override { return stop("true or false"); }
  bool number_integer(number_integer_t value) override { return stop(neon::text("the number ", value)); }
  bool number_unsigned(number_unsigned_t value) override { return stop(neon::text("the number ", value)); }
  bool number_float(number_float_t, const string_t& written) override {
    return stop(neon::text("the number ", in_quotes(written)));
  }
  bool binary(binary_t&) override { return stop("binary data"); }
  bool string(string_t& value) override { return stop(neon::text("the text ", in_quotes(value))); }
  bool start_object(size_t) override { return stop("an object"); }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return stop("a list"); }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    return say(neon::text("not JSON at its character ", position));
  }

 protected:
  virtual std::string place() const = 0;  // "tensor 'w': shape"
  bool say(std::string message) {
    if (problem.empty()) problem = std::move(message);
    return false;
  }
  bool stop(const std::string& what) { return say(neon::text(place(), ": ", what, " has no place there")); }
};

// {"name": "text", ...}, and nothing under it.
class TextEvents final : public Events {
 public:
  std::map<std::string, std::string> texts;
  bool start_object(size_t) override {
    if (open_++) return stop("an object");
    return true;
  }
  bool key(string_t& name) override {
    name_ = name;
    if (!texts.emplace(name, "").second) return say(neon::text(in_quotes(name), " is there twice"));
    return true;
  }
  bool string(string_t& value) override {
    if (!open_) return stop("a text");
    texts[name_] = value;
    return true;
  }

 private:
  std::string place() const override { return open_ ? in_quotes(name_) : "at the top"; }
  int open_ = 0;
  std::string name_;
};

// The header's grammar.
class HeaderEvents final : public Events {
 public:
  struct Raw {
    std::string name;
    std::optional<std::string> dtype;
    std::optional<std::vector<uint64_t>> shape, offsets;
  };
  std::vector<Raw> tensors;
  std::map<std::string, std::string> metadata;

  bool start_object(size_t) override {
    if (depth_ == 2 || (depth_ == 1 && in_list_)) return stop("an object");
    ++depth_;
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1 && !in_metadata_) return check_complete(tensors.back());
    return true;
  }
  bool key(string_t& name) override {
    if (depth_ == 1) return open_entry(name);
    key_ = name;
    if (in_metadata_) {
      if (!metadata.emplace(name, "").second) return say(neon::text("metadata ", in_quotes(name), " is there twice"));
      return true;
    }
    Raw& raw = tensors.back();
    if (name != "dtype" && name != "shape" && name != "data_offsets")
      return say(neon::text("tensor ", in_quotes(raw.name), ": key ", in_quotes(name),
                            " is unknown; expected dtype, shape and data_offsets"));
    if ((name == "dtype" && raw.dtype) || (name == "shape" && raw.shape) || (name == "data_offsets" && raw.offsets))
      return say(neon::text("tensor ", in_quotes(raw.name), ": ", name, " is there twice"));
    return true;
  }
  bool string(string_t& value) override {
    if (depth_ != 2 || in_list_ || (!in_metadata_ && key_ != "dtype")) return Events::string(value);
    if (in_metadata_) metadata[key_] = value;
    else tensors.back().dtype = value;
    return true;
  }
  bool start_array(size_t) override {
    if (depth_ != 2 || in_list_ || in_metadata_ || key_ == "dtype") return stop("a list");
    in_list_ = true;
    (key_ == "shape" ? tensors.back().shape : tensors.back().offsets).emplace();
    return true;
  }
  bool end_array() override {
    in_list_ = false;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (!in_list_) return Events::number_unsigned(value);
    auto& list = *(key_ == "shape" ? tensors.back().shape : tensors.back().offsets);
    if (list.size() == size_t(Shape::kMaxRank))
      return say(neon::text(place(), ": more than ", Shape::kMaxRank, " numbers"));
    list.push_back(value);
    return true;
  }

 private:
  std::string place() const override {
    if (depth_ == 0) return "at the top";
    if (in_metadata_) return depth_ == 1 ? "__metadata__" : "metadata " + in_quotes(key_);
    if (tensors.empty()) return "at the top";
    return neon::text("tensor ", in_quotes(tensors.back().name), depth_ == 2 ? ": " : "", depth_ == 2 ? key_ : "");
  }
  bool open_entry(const std::string& name) {
    in_metadata_ = name == "__metadata__";
    if (!names_.insert(name).second) return say(neon::text(in_quotes(name), " is there twice"));
    if (!in_metadata_) tensors.push_back({name, {}, {}, {}});
    return true;
  }
  bool check_complete(const Raw& raw) {
    const char* missing = !raw.dtype ? "dtype" : !raw.shape ? "shape" : !raw.offsets ? "data_offsets" : nullptr;
    if (missing) return say(neon::text("tensor ", in_quotes(raw.name), ": no ", missing));
    if (raw.offsets->size() != 2)
      return say(neon::text("tensor ", in_quotes(raw.name), ": data_offsets has ", raw.offsets->size(),
                            " numbers, not a beginning and an end"));
    return true;
  }
  int depth_ = 0;
  bool in_list_ = false, in_metadata_ = false;
  std::string key_;
  std::set<std::string> names_;
};

void run(Events& events, std::string_view json, const std::string& what) {
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &events))
    fail(ErrorKind::data, what, ": ", events.problem.empty() ? "not JSON" : events.problem);
}

DType dtype_of_text(const std::string& written, const std::string& where) {
  std::vector<std::string> names;
  for (const auto& [name, dtype] : kDTypes) {
    if (name == written) return dtype;
    names.emplace_back(name);
  }
  fail(ErrorKind::data, where, ": dtype ", in_quotes(written), " is unknown; expected one of ", join(names, ", "));
}

TensorEntry check_entry(const HeaderEvents::Raw& raw, const std::string& path) {
  const std::string where = text(path, ": tensor ", in_quotes(raw.name));
  TensorEntry entry;
  entry.name = raw.name;
  entry.dtype = dtype_of_text(*raw.dtype, where);
  // Multiplied in the order written: a later 0 does not excuse an overflow before it.
  uint64_t bytes = size_of(entry.dtype);
  std::vector<int64_t> sizes;
  for (uint64_t size : *raw.shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes) || size > uint64_t(1) << 61 || bytes > uint64_t(1) << 61)
      fail(ErrorKind::data, where, ": the sizes in its shape multiply to more than any file can hold");
    sizes.push_back(int64_t(size));
  }
  entry.shape = Shape(sizes);
  entry.begin = (*raw.offsets)[0];
  entry.end = (*raw.offsets)[1];
  if (entry.end < entry.begin || entry.end - entry.begin != bytes)
    fail(ErrorKind::data, where, ": data_offsets [", entry.begin, ", ", entry.end, "] are not the ", bytes,
         " bytes that ", *raw.dtype, " ", entry.shape, " takes");
  return entry;
}

}  // namespace

std::map<std::string, std::string> parse_texts(std::string_view json, const std::string& what) {
  TextEvents events;
  run(events, json, what);
  return std::move(events.texts);
}

SafetensorsHeader parse_header(std::string_view json, size_t data_bytes, const std::string& path) {
  if (json.empty() || json.front() != '{') fail(ErrorKind::data, path, ": its header does not begin with '{'");
  HeaderEvents events;
  run(events, json, path + ": header");
  SafetensorsHeader header;
  header.metadata = std::move(events.metadata);
  header.entries.reserve(events.tensors.size());
  for (const auto& raw : events.tensors) header.entries.push_back(check_entry(raw, path));
  std::ranges::sort(header.entries, [](const TensorEntry& a, const TensorEntry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  size_t covered = 0;
  for (const TensorEntry& entry : header.entries) {
    if (entry.begin != covered)
      fail(ErrorKind::data, path, ": tensor ", in_quotes(entry.name), " begins at byte ", entry.begin,
           " of the data, where ", covered, " was expected: ranges have a gap or overlap");
    covered = entry.end;
  }
  if (covered != data_bytes)
    fail(ErrorKind::data, path, ": its tensors take ", covered, " bytes, and ", data_bytes,
         " follow the header; the file was cut off or added to");
  return header;
}

}  // namespace neon
