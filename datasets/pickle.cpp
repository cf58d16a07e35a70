#include "datasets/pickle.h"

#include <cstring>
#include <map>

#include "neon/core/error.h"

namespace neon {

namespace {

constexpr size_t kMostNodes = 10000000;

uint64_t little_endian(std::string_view bytes) {
  uint64_t out = 0;
  for (size_t i = bytes.size(); i-- > 0;) out = out << 8 | uint8_t(bytes[i]);
  return out;
}

int64_t signed_number(std::string_view bytes) {
  const size_t size = bytes.size();
  uint64_t out = little_endian(bytes);
  if (size > 0 && size < 8 && bytes.back() < 0) out |= ~uint64_t(0) << (8 * size);
  return int64_t(out);
}

}  // namespace

class PickleReader {
 public:
  explicit PickleReader(Pickle& pickle) : out_(pickle) {}

  void run() {
    while (true) {
      const auto code = uint8_t(take(1)[0]);
      if (code == '.') break;
      if (!plain(code) && !collection(code) && !memo(code) && !object(code))
        stop(text("has the code ", int(code), ", which no pickle of protocol 2 has"));
    }
    out_.root_ = pop();
  }

 private:
  using Kind = PickleNode::Kind;

  [[noreturn]] void stop(const std::string& why) const {
    fail(ErrorKind::data, out_.source_, ": is no pickle of neon 0.9: byte ", at_, ' ', why);
  }

  std::string_view take(size_t count) {
    if (count > out_.file_.size() - at_) stop("ends the file too early");
    at_ += count;
    return out_.file_.substr(at_ - count, count);
  }
  size_t take_length(size_t bytes) { return size_t(little_endian(take(bytes))); }
  std::string take_line() {
    const size_t end = out_.file_.find('\n', at_);
    if (end == std::string_view::npos) stop("begins a line without an end");
    const std::string line(take(end - at_));
    take(1);
    return line;
  }

  size_t pop() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() <= marks_.back())) stop("takes a value that is not there");
    const size_t out = stack_.back();
    stack_.pop_back();
    return out;
  }
  std::vector<size_t> pop_to_mark() {
    if (marks_.empty()) stop("takes values from a mark that is not there");
    const auto begin = stack_.begin() + std::ptrdiff_t(marks_.back());
    std::vector<size_t> out(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return out;
  }
  PickleNode& top(Kind kind) {
    if (stack_.empty() || out_.nodes_[stack_.back()].kind != kind) stop("changes a value of another kind");
    return out_.nodes_[stack_.back()];
  }
  bool push(PickleNode node) {
    if (out_.nodes_.size() >= kMostNodes) stop("is one value too many");
    out_.nodes_.push_back(std::move(node));
    stack_.push_back(out_.nodes_.size() - 1);
    return true;
  }
  bool push_integer(int64_t value) { return push({.kind = Kind::integer, .integer = value}); }
  bool push_text(size_t bytes) {
    const size_t place = at_;
    take(bytes);
    return push({.kind = Kind::text, .place = place, .bytes = bytes});
  }
  bool push_list(std::vector<size_t> items) { return push({.kind = Kind::list, .items = std::move(items)}); }

  bool plain(uint8_t code) {
    switch (code) {
      case 0x80: take(1); return true;  // the protocol
      case 'N': return push({});
      case 0x88: return push_integer(1);
      case 0x89: return push_integer(0);
      case 'K': return push_integer(int64_t(take_length(1)));
      case 'M': return push_integer(int64_t(take_length(2)));
      case 'J': return push_integer(signed_number(take(4)));
      case 0x8a: {
        const size_t bytes = take_length(1);
        return push_integer(signed_number(take(bytes).substr(0, 8)));
      }
      case 'G': take(8); return push({});  // a real number, which macrobatches have only beside what is read
      case 'U':
      case 'C': return push_text(take_length(1));
      case 'T':
      case 'X':
      case 'B': return push_text(take_length(4));
      default: return false;
    }
  }

  bool collection(uint8_t code) {
    switch (code) {
      case '(': marks_.push_back(stack_.size()); return true;
      case '0': pop(); return true;
      case ']':
      case ')': return push_list({});
      case '}': return push({.kind = Kind::map});
      case 't': return push_list(pop_to_mark());
      case 0x85:
      case 0x86:
      case 0x87: {
        std::vector<size_t> items(size_t(code - 0x84));
        for (size_t i = items.size(); i-- > 0;) items[i] = pop();
        return push_list(std::move(items));
      }
      case 'a': return add(Kind::list, {pop()});
      case 'e': return add(Kind::list, pop_to_mark());
      case 's': {
        const size_t value = pop(), key = pop();
        return add(Kind::map, {key, value});
      }
      case 'u': return add(Kind::map, pop_to_mark());
      default: return false;
    }
  }

  bool add(Kind kind, const std::vector<size_t>& items) {
    auto& own = top(kind).items;
    own.insert(own.end(), items.begin(), items.end());
    return true;
  }

  bool memo(uint8_t code) {
    const bool puts = code == 'q' || code == 'r';
    if (!puts && code != 'h' && code != 'j') return false;
    const size_t key = take_length(code == 'q' || code == 'h' ? 1 : 4);
    if (puts) {
      if (stack_.empty()) stop("keeps a value that is not there");
      memo_[key] = stack_.back();
      return true;
    }
    const auto found = memo_.find(key);
    if (found == memo_.end()) stop("asks for a value that was not kept");
    stack_.push_back(found->second);
    return true;
  }

  bool object(uint8_t code) {
    if (code == 'c') {
      const std::string module = take_line();
      return push({.kind = Kind::object, .name = module + "." + take_line()});
    }
    if (code != 'R' && code != 'b') return false;
    const size_t given = pop();
    if (code == 'b') return add(Kind::object, {given});
    PickleNode made{.kind = Kind::object, .name = top(Kind::object).name, .items = {given}};
    pop();
    return push(std::move(made));
  }

  Pickle& out_;
  size_t at_ = 0;
  std::vector<size_t> stack_, marks_;
  std::map<size_t, size_t> memo_;
};

Pickle::Pickle(std::string_view file, std::string source) : file_(file), source_(std::move(source)) {
  PickleReader(*this).run();
}

const PickleNode* Pickle::find(const PickleNode& map, std::string_view key) const {
  if (map.kind != PickleNode::Kind::map) return nullptr;
  for (size_t i = 0; i + 1 < map.items.size(); i += 2) {
    const PickleNode& own = nodes_[map.items[i]];
    if (own.kind == PickleNode::Kind::text && text_of(own) == key) return &nodes_[map.items[i + 1]];
  }
  return nullptr;
}

std::vector<int64_t> Pickle::integers_of(const PickleNode& given, const char* what) const {
  using Kind = PickleNode::Kind;
  const auto wrong = [&] { fail(ErrorKind::data, source_, ": ", what, " are no list of whole numbers"); };
  std::vector<int64_t> out;
  if (given.kind == Kind::list) {
    for (const size_t item : given.items) {
      if (nodes_[item].kind != Kind::integer) wrong();
      out.push_back(nodes_[item].integer);
    }
    return out;
  }
  const auto [type, bytes] = array_of(given);
  const size_t size = type == "i4" ? 4 : type == "i8" ? 8 : 0;
  if (size == 0 || bytes.size() % size) wrong();
  for (size_t i = 0; i < bytes.size(); i += size) out.push_back(signed_number(bytes.substr(i, size)));
  return out;
}

std::string_view Pickle::bytes_of(const PickleNode& given, const char* what) const {
  const auto [type, bytes] = array_of(given);
  if (type != "u1") fail(ErrorKind::data, source_, ": ", what, " is no array of bytes");
  return bytes;
}

// _reconstruct(...) with the state (version, shape, dtype(name, ...), order, bytes).
Pickle::Array Pickle::array_of(const PickleNode& given) const {
  using Kind = PickleNode::Kind;
  if (given.kind != Kind::object || given.items.size() != 2) return {};
  const PickleNode& state = nodes_[given.items[1]];
  if (state.kind != Kind::list || state.items.size() != 5) return {};
  const PickleNode &type = nodes_[state.items[2]], &by_columns = nodes_[state.items[3]],
                   &bytes = nodes_[state.items[4]];
  if (by_columns.integer != 0)
    fail(ErrorKind::data, source_, ": an array lies column by column, in Fortran's order; numpy.ascontiguousarray() ",
         "gives one by rows, which neon reads");
  if (type.kind != Kind::object || type.items.empty() || bytes.kind != Kind::text) return {};
  const PickleNode& arguments = nodes_[type.items[0]];
  if (arguments.kind != Kind::list || arguments.items.empty()) return {};
  const PickleNode& named = nodes_[arguments.items[0]];
  return {named.kind == Kind::text ? text_of(named) : std::string_view(), text_of(bytes)};
}

}  // namespace neon
