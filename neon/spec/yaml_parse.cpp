// The only file that sees yaml-cpp. Its event interface gives marks, anchors and tags as they are; its Node
// would hide doubled keys, further documents and cycles.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include "neon/core/error.h"
#include "neon/core/params.h"
#include "neon/spec/indentation.h"
#include "neon/spec/raw.h"

namespace neon {

namespace {

using Kind = Setting::Kind;
constexpr std::string_view kStandardTag = "tag:yaml.org,2002:";
constexpr std::string_view kOldObject = "!obj:", kOldSearch = "!hyperopt";

bool is_old_tag(std::string_view tag) { return tag.starts_with(kOldObject) || tag == kOldSearch; }

// The parser gives the escapes \N and \_ as their single byte of Latin-1, all else as UTF-8.
std::string with_escapes_as_utf8(const std::string& value) {
  std::string out;
  out.reserve(value.size());
  for (size_t i = 0; i < value.size();) {
    const auto byte = static_cast<unsigned char>(value[i]);
    const size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    if (byte >= 0x80 && length == 1) out += '\xC2';
    out.append(value, i, length);
    i += length;
  }
  return out;
}

class RawBuilder : public YAML::EventHandler {
 public:
  RawBuilder(const Source& source, const YamlLimits& limits, Problems& problems)
      : source_(source), limits_(limits), problems_(problems) {}

  RawDocument document;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (document.empty) return;
    if (source_.line(mark.line).starts_with("---"))
      stop(mark, "a second document starts here; a file holds one, so remove the '---'");
    stop(mark, "this follows a value that is already complete; is a space missing after a ':'?");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(mark, Kind::null, anchor); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const uint32_t target = anchored_[anchor - 1];
    if (document.nodes[target].open)
      stop(mark, text(in_quotes("*" + names_[anchor - 1]), " stands inside the value that it names"));
    document.nodes[target].aliased = true;
    attach(target);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_closed_quote(mark);
    if (value.find('\0') != value.npos) stop(mark, "a NUL character in a text");
    RawNode& node = document.nodes[add(mark, Kind::scalar, anchor)];
    node.value = with_escapes_as_utf8(value);
    // A text of several lines, say, can be written back only in quotes, and is text for certain.
    node.quoted = tag == "!" || !is_plain(node.value);
    node.merge = tag == "?" && value == "<<";
    if (is_old_tag(tag)) node.tag = tag;
    else if (tag != "!" && tag != "?") apply_tag(mark, tag, node);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, "seq", Kind::list, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, "map", Kind::map, anchor);
  }
  void OnMapEnd() override { close(); }

  void OnAnchor(const YAML::Mark&, const std::string& name) override {
    names_.push_back(name);
    if (stack_.empty() || document.nodes[stack_[0]].kind != Kind::map) return;
    const auto& pairs = document.nodes[stack_[0]].children;
    if (pairs.empty()) return;
    const RawNode& key = document.nodes[pairs[(pairs.size() - 1) / 2 * 2]];
    auto& keys = document.anchored_keys;
    if (keys.empty() || keys.back() != key.value) keys.push_back(key.value);
  }

  [[noreturn]] void stop(const YAML::Mark& mark, std::string message) {
    stop_at(source_.at(mark.line, mark.column), std::move(message));
  }
  // Throws the parser's own complaint, reworded to help, at the place to mend.
  [[noreturn]] void stop(const YAML::Exception& error);

 private:
  [[noreturn]] void stop_at(const Location& where, std::string message) {
    problems_.add(where, "", std::move(message));
    problems_.throw_if_any();
    std::abort();
  }

  uint32_t add(const YAML::Mark& mark, Kind kind, YAML::anchor_t anchor) {
    if (int(document.nodes.size()) >= limits_.nodes) stop(mark, text("more than ", limits_.nodes, " values"));
    RawNode node;
    node.kind = kind;
    node.line = mark.line;
    node.column = mark.column;
    const auto index = uint32_t(document.nodes.size());
    document.nodes.push_back(std::move(node));
    if (anchor) {
      anchored_.resize(anchor);
      anchored_[anchor - 1] = index;
      document.nodes[index].anchor = names_[anchor - 1];
    }
    attach(index);
    return index;
  }

  void attach(uint32_t index) {
    if (!stack_.empty()) document.nodes[stack_.back()].children.push_back(index);
    else document.root = index;
    document.empty = false;
  }

  void open(const YAML::Mark& mark, const std::string& tag, const char* own_tag, Kind kind, YAML::anchor_t anchor) {
    if (!is_old_tag(tag)) check_tag(mark, tag, own_tag);
    if (int(stack_.size()) >= limits_.depth)
      stop(mark, text("lists and maps stand more than ", limits_.depth, " deep in one another"));
    const uint32_t index = add(mark, kind, anchor);
    document.nodes[index].open = true;
    if (is_old_tag(tag)) document.nodes[index].tag = tag;
    stack_.push_back(index);
  }

  void close() {
    document.nodes[stack_.back()].open = false;
    stack_.pop_back();
  }

  // `own` is the one standard tag that fits.
  void check_tag(const YAML::Mark& mark, const std::string& tag, std::string_view own) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    if (tag == text(kStandardTag, own)) return;
    problems_.add(
        source_.at(mark.line, mark.column), "",
        text("tag ", shown(tag),
             " does not fit here; neon reads the tags !!str, !!int, !!float, !!bool, !!null, !!seq and !!map"));
  }

  static std::string shown(const std::string& tag) {
    return tag.starts_with(kStandardTag) ? text("!!", tag.substr(kStandardTag.size())) : tag;
  }

  void apply_tag(const YAML::Mark& mark, const std::string& tag, RawNode& node) {
    const std::string type = tag.starts_with(kStandardTag) ? tag.substr(kStandardTag.size()) : "";
    const Setting plain = Setting::scalar(node.value);
    bool truth;
    int64_t integer;
    double real;
    node.quoted = false;
    if (type == "str") node.quoted = true;
    else if (type == "null" && node.value.empty()) node.kind = Kind::null;
    else if ((type == "int" && detail::read_integer(plain, integer)) ||
             (type == "float" && detail::read_real(plain, real)) || (type == "bool" && detail::read_bool(plain, truth)))
      return;
    else if (type == "int" || type == "float" || type == "bool")
      problems_.add(source_.at(mark.line, mark.column), "", text(in_quotes(node.value), " is no ", shown(tag)));
    else check_tag(mark, tag, "str");
  }

  // Where the node's own text starts, after its tag and anchor.
  size_t content(int line, int column) const {
    const std::string& all = source_.text();
    size_t at = source_.offset(line, column);
    while (at < all.size()) {
      if (all[at] == '#') at = std::min(all.find('\n', at), all.size());
      else if (all[at] == '&' || all[at] == '!') at = std::min(all.find_first_of(" \t\n", at), all.size());
      else if (std::string_view(" \t\n").find(all[at]) != std::string_view::npos) ++at;
      else break;
    }
    return at;
  }

  // The parser takes the end of the file for the end of a quoted text.
  void check_closed_quote(const YAML::Mark& mark) {
    const std::string& all = source_.text();
    const size_t start = content(mark.line, mark.column);
    if (start >= all.size() || (all[start] != '"' && all[start] != '\'')) return;
    const char quote = all[start];
    size_t at = start + 1;
    for (; at < all.size(); ++at) {
      const bool pair = quote == '"' ? all[at] == '\\' : all.compare(at, 2, "''") == 0;
      if (pair) ++at;
      else if (all[at] == quote) return;
    }
    stop(mark, text("the ", quote, " that opens here is never closed"));
  }

  const Source& source_;
  const YamlLimits& limits_;
  Problems& problems_;
  std::vector<uint32_t> stack_;
  std::vector<uint32_t> anchored_;  // node of each anchor
  std::vector<std::string> names_;
};

struct Wording {
  std::string_view theirs, ours;
};
const Wording kWordings[] = {
    {YAML::ErrorMsg::MAP_VALUE,
     "a ':' where no key can stand; check the indentation, and quote a text that holds ': '"},
    {YAML::ErrorMsg::MAP_KEY, "a '?' cannot stand here"},
    {YAML::ErrorMsg::BLOCK_ENTRY, "a '- ' cannot stand here; the first item of a list starts on a line of its own"},
    {YAML::ErrorMsg::FLOW_END, "a closing ] or } without its opening one"},
    {YAML::ErrorMsg::END_OF_MAP, "expected the next 'key: value' here; check the indentation and the quotes"},
    {YAML::ErrorMsg::END_OF_SEQ, "expected the next '- item' here; check the indentation and the quotes"},
    {YAML::ErrorMsg::END_OF_MAP_FLOW, "a { is not closed"},
    {YAML::ErrorMsg::END_OF_SEQ_FLOW, "a [ is not closed"},
    {YAML::ErrorMsg::UNKNOWN_TOKEN, "no value can start with this character; put the text in quotes"},
    {YAML::ErrorMsg::ALIAS_NOT_FOUND, "a name is missing after '*'; a text that starts with * needs quotes"},
    {YAML::ErrorMsg::ANCHOR_NOT_FOUND, "a name is missing after '&'; a text that starts with & needs quotes"},
    {YAML::ErrorMsg::CHAR_IN_ALIAS, "this character cannot be part of an alias's name"},
    {YAML::ErrorMsg::CHAR_IN_ANCHOR, "this character cannot be part of an anchor's name"},
    {YAML::ErrorMsg::ALIAS_CONTENT, "nothing can follow an alias"},
    {YAML::ErrorMsg::MULTIPLE_ANCHORS, "one value has two anchors"},
    {YAML::ErrorMsg::MULTIPLE_TAGS, "one value has two tags"},
    {YAML::ErrorMsg::TAB_IN_INDENTATION, "a tab indents this line; YAML takes spaces only"},
    {YAML::ErrorMsg::DOC_IN_SCALAR, "'---' or '...' inside a quoted text; is a quote not closed?"},
    {YAML::ErrorMsg::INVALID_HEX, "expected hexadecimal digits after the \\x, \\u or \\U"},
    {YAML::ErrorMsg::CHAR_IN_BLOCK, "nothing but + or - and a digit can follow a | or >"},
    {YAML::ErrorMsg::ZERO_INDENT_IN_BLOCK, "the indentation after a | or > cannot be 0"},
    {YAML::ErrorMsg::CHAR_IN_TAG_HANDLE, "this character cannot be part of a tag"},
    {YAML::ErrorMsg::TAG_WITH_NO_SUFFIX, "a name is missing after '!!'"},
    {YAML::ErrorMsg::END_OF_VERBATIM_TAG, "a tag's !< is not closed"},
    {YAML::ErrorMsg::YAML_MAJOR_VERSION, "only YAML 1.x is read"},
    {YAML::ErrorMsg::BAD_FILE, "lists and maps stand too deep in one another"},
};

void RawBuilder::stop(const YAML::Exception& error) {
  const int line = error.mark.line, column = error.mark.column;
  const std::string& all = source_.text();
  if (error.msg == YAML::ErrorMsg::UNKNOWN_ANCHOR) {
    const size_t start = content(line, column) + 1;
    const std::string name = all.substr(start, all.find_first_of(" \t\n,]}", start) - start);
    stop(error.mark, text(in_quotes("*" + name), " names no anchor above it", did_you_mean(name, names_)));
  }
  const std::string_view bad_line = source_.line(line);
  const size_t tab = bad_line.substr(0, bad_line.find_first_not_of(" \t")).find('\t');
  if (tab != bad_line.npos) stop_at(source_.at(line, int(tab)), "a tab indents this line; YAML takes spaces only");
  if (error.msg == YAML::ErrorMsg::EOF_IN_SCALAR) {
    const RawNode last = document.nodes.empty() ? RawNode() : document.nodes.back();
    stop_at(source_.at(last.line, last.column), "a quote that opens here or soon after is never closed");
  }
  // An unclosed bracket is noticed only where the text stops making sense, perhaps at the end of the file.
  if (error.msg == YAML::ErrorMsg::END_OF_MAP_FLOW || error.msg == YAML::ErrorMsg::END_OF_SEQ_FLOW)
    for (auto it = stack_.rbegin(); it != stack_.rend(); ++it) {
      const RawNode& node = document.nodes[*it];
      const size_t start = content(node.line, node.column);
      if (start >= all.size() || (all[start] != '[' && all[start] != '{')) continue;
      const size_t at = source_.offset(line, column);
      const bool at_end = at <= start;  // the end of the file has no good mark
      const bool in_text = !at_end && at < all.size() && all[at] == '{' && !std::strchr(" \t\n,:[{", all[at - 1]);
      if (in_text) stop_at(source_.at(line, column), "a { within text; a text that has one is written in quotes");
      stop_at(source_.at(node.line, node.column),
              text("the ", all[start], " that opens here is not closed",
                   at_end ? "" : text(", or a comma is missing at ", source_.at(line, column))));
    }
  if (error.msg == YAML::ErrorMsg::END_OF_MAP || error.msg == YAML::ErrorMsg::END_OF_SEQ)
    if (const std::string mistake = wrong_indentation(source_, line, column); !mistake.empty())
      stop(error.mark, mistake);
  for (const Wording& wording : kWordings)
    if (error.msg == wording.theirs) stop(error.mark, std::string(wording.ours));
  stop(error.mark, error.msg);
}

// The parser passes over directives it doesn't know, and %TAG would give a tag another meaning.
void check_directives(const Source& source) {
  std::istringstream lines(source.text());
  std::string line;
  for (int row = 0; std::getline(lines, line); ++row) {
    if (line.starts_with("%") && !line.starts_with("%YAML "))
      fail(ErrorKind::config, source.at(row, 0), ": directive ", line.substr(0, line.find(' ')), " is not read");
    const size_t first = line.find_first_not_of(" \t");
    if (first != line.npos && line[first] != '#' && line[0] != '%') return;
  }
}

}  // namespace

RawDocument parse_yaml(const Source& source, const YamlLimits& limits, Problems& problems) {
  check_directives(source);
  RawBuilder builder(source, limits, problems);
  std::istringstream in(source.text());
  try {
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    builder.stop(error);
  }
  return std::move(builder.document);
}

bool is_old(const RawDocument& document) {
  return !document.empty && document.nodes[document.root].tag.starts_with(kOldObject);
}

}  // namespace neon
