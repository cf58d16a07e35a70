#include "datasets/npy_header.h"

#include <charconv>

namespace neon {

namespace {

// Reads the few Python literals that NumPy writes.
class Literal {
 public:
  Literal(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) bad(text("expected '", c, "'"));
  }
  bool next_is(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }
  std::string quoted() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '\'' && quote != '"') bad("expected a quoted text");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos) bad("a quoted text does not end");
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }
  bool boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair{"True", true}, {"False", false}})
      if (text_.substr(at_).starts_with(word)) {
        at_ += std::string_view(word).size();
        return value;
      }
    bad("expected True or False");
  }
  Shape tuple() {
    expect('(');
    std::vector<int64_t> sizes;
    int64_t elements = 1;
    while (!take(')')) {
      sizes.push_back(integer());
      if (sizes.size() > size_t(Shape::kMaxRank)) bad(text("more than ", Shape::kMaxRank, " axes"));
      // Times 8 for the bytes of the widest element.
      if (__builtin_mul_overflow(elements, std::max<int64_t>(sizes.back(), 1), &elements) || elements > INT64_MAX / 32)
        bad("the shape has more elements than any file can hold");
      if (!take(',') && !next_is(')')) bad("expected ',' or ')' in the shape");
    }
    return Shape(sizes);
  }
  void expect_end() {
    skip_space();
    if (at_ != text_.size()) bad("something follows the dictionary");
  }
  [[noreturn]] void bad(const std::string& what) const {
    fail(ErrorKind::data, name_, ": corrupt .npy header: ", what, " at character ", at_ + 1);
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  int64_t integer() {
    skip_space();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) bad("expected a size");
    at_ = size_t(end - text_.data());
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote 3L
    return value;
  }
  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
};

void read_descr(const std::string& descr, NpyHeader& header, const std::string& name) {
  std::string_view rest = descr;
  if (!rest.empty() && std::string_view("<>|=").find(rest[0]) != std::string_view::npos) {
    header.order = rest[0] == '=' ? '<' : rest[0];
    rest.remove_prefix(1);
  }
  header.kind = rest.empty() ? '\0' : rest[0];
  header.item = rest.size() == 2 && rest[1] >= '0' && rest[1] <= '9' ? rest[1] - '0' : 0;
  if (header.kind == '?') header.kind = 'b', header.item = 1;
  if (header.kind == 'O')
    fail(ErrorKind::data, name,
         ": holds Python objects (a pickle, which can run code when it is loaded): not read; "
         "save numbers instead, for example numpy.save(path, numpy.asarray(x, dtype='float32'))");
  if (header.kind == 'U' || header.kind == 'S' || header.kind == 'a')
    fail(ErrorKind::data, name, ": holds text ('", descr, "'): save labels as integers");
  const std::string_view sizes = header.kind == 'b'                         ? "1"
                                 : header.kind == 'i' || header.kind == 'u' ? "1248"
                                 : header.kind == 'f'                       ? "248"
                                                                            : "";
  if (header.item == 0 || sizes.find(char('0' + header.item)) == sizes.npos)
    fail(ErrorKind::data, name, ": element type '", descr,
         "' is not read: expected bool, an integer of 8 to 64 bits, or a "
         "float of 16 to 64 bits");
}

}  // namespace

NpyHeader parse_npy_literal(std::string_view literal, const std::string& name) {
  Literal in(literal, name);
  NpyHeader header;
  bool has_descr = false, has_order = false, has_shape = false;
  in.expect('{');
  while (!in.take('}')) {
    const std::string key = in.quoted();
    in.expect(':');
    bool* seen = key == "descr"           ? &has_descr
                 : key == "fortran_order" ? &has_order
                 : key == "shape"         ? &has_shape
                                          : nullptr;
    if (!seen || *seen) in.bad((seen ? "second key '" : "unknown key '") + key.substr(0, 40) + "'");
    *seen = true;
    if (seen == &has_order) header.fortran = in.boolean();
    else if (seen == &has_shape) header.shape = in.tuple();
    else if (in.next_is('['))
      fail(ErrorKind::data, name, ": is a structured array (fields with names): save a plain array of numbers instead");
    else read_descr(in.quoted(), header, name);
    if (!in.take(',') && !in.next_is('}')) in.bad("expected ',' or '}'");
  }
  in.expect_end();
  if (!has_descr || !has_order || !has_shape) in.bad("a key is missing: descr, fortran_order and shape are needed");
  return header;
}

}  // namespace neon
