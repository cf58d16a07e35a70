// Raw nodes to settings: aliases by value, merges, doubled keys, all within the limits.
#include "neon/spec/yaml.h"

#include <cstdlib>
#include <unordered_map>
#include <utility>

#include "neon/core/error.h"
#include "neon/spec/document.h"
#include "neon/spec/raw.h"

namespace neon {

namespace {

class Expander {
 public:
  Expander(const Source& source, const RawDocument& raw, const YamlLimits& limits, Problems& problems,
           Problems& doubled_keys)
      : source_(source),
        raw_(raw),
        limits_(limits),
        problems_(problems),
        doubled_keys_(doubled_keys),
        judged_(raw.nodes.size(), false) {}

  Setting value(uint32_t index, std::string path, int depth) {
    const RawNode& node = raw_.nodes[index];
    spend(node, path, depth);
    if (!node.tag.empty())
      stop(node, text(node.tag,
                      " is the notation of neon 0.9, which takes a whole file that begins with "
                      "!obj:experiments; elsewhere write objects as Name: {parameters}"));
    Setting out;
    out.kind = node.kind;
    out.where = source_.at(node.line, node.column);
    out.value = node.value;
    out.quoted = node.quoted;
    if (node.kind == Setting::Kind::list)
      for (size_t i = 0; i < node.children.size(); ++i)
        out.items.push_back(value(node.children[i], text(path, "[", i, "]"), depth + 1));
    if (node.kind == Setting::Kind::map) out.entries = entries(index, path, depth);
    out.path = std::move(path);
    return out;
  }

 private:
  using Index = std::unordered_map<std::string, size_t>;

  void spend(const RawNode& node, const std::string& path, int depth) {
    ++nodes_;
    text_ += node.value.size() + path.size();
    if (nodes_ > limits_.nodes) stop(node, text("more than ", limits_.nodes, " values, aliases replaced"));
    if (text_ > limits_.text)
      stop(node, text("more than ", bytes_text(double(limits_.text)), " of text, aliases replaced"));
    if (depth > limits_.depth)
      stop(node, text("lists and maps stand more than ", limits_.depth, " deep in one another"));
  }

  [[noreturn]] void stop(const RawNode& node, std::string message) {
    problems_.add(source_.at(node.line, node.column), "", std::move(message));
    problems_.throw_if_any();
    std::abort();
  }

  std::vector<Setting::Entry> entries(uint32_t index, const std::string& path, int depth) {
    const RawNode& map = raw_.nodes[index];
    const bool judged = judged_[index];  // one message, however often an alias leads here
    judged_[index] = true;
    std::vector<Setting::Entry> out;
    Index own = own_keys(map, path, judged);
    Index taken;
    for (size_t i = 0; i < map.children.size(); i += 2) {
      const RawNode& key = raw_.nodes[map.children[i]];
      if (key.merge) {
        for (Setting::Entry& entry : merged(map.children[i + 1], path, depth + 1, judged))
          if (!own.contains(entry.key) && taken.emplace(entry.key, 0).second) out.push_back(std::move(entry));
      } else if (const auto last = own.find(key.value); last != own.end() && last->second == i) {
        out.push_back(entry(key, map.children[i + 1], path, depth));
      }
    }
    return out;
  }

  // The place of the last pair of each key.
  Index own_keys(const RawNode& map, const std::string& path, bool judged) {
    Index out;
    for (size_t i = 0; i < map.children.size(); i += 2) {
      const RawNode& key = raw_.nodes[map.children[i]];
      if (key.merge) continue;
      const Location where = source_.at(key.line, key.column);
      if (key.kind != Setting::Kind::scalar || key.value.empty() || key.value.size() > limits_.key) {
        if (!judged)
          problems_.add(where, path,
                        key.kind != Setting::Kind::scalar ? "a key must be plain text"
                        : key.value.empty()               ? "a key is empty"
                                                          : text("a key is longer than ", limits_.key, " bytes"));
        continue;
      }
      const auto [old, is_new] = out.emplace(key.value, i);
      if (is_new) continue;
      const RawNode& first = raw_.nodes[map.children[old->second]];
      if (!judged)
        doubled_keys_.add(
            where, path,
            text("key ", in_quotes(key.value), " is given twice, first at ", source_.at(first.line, first.column)));
      old->second = i;
    }
    return out;
  }

  Setting::Entry entry(const RawNode& key, uint32_t child, const std::string& path, int depth) {
    Setting::Entry out{key.value, value(child, path.empty() ? key.value : text(path, ".", key.value), depth + 1),
                       source_.at(key.line, key.column)};
    // The parser places an absent value at whatever follows it.
    if (out.value.is_null()) out.value.where = out.where;
    return out;
  }

  // The entries that `<<: node` brings: of a map, or of maps in a list, the first of which wins.
  std::vector<Setting::Entry> merged(uint32_t index, const std::string& path, int depth, bool judged) {
    const RawNode& node = raw_.nodes[index];
    spend(node, path, depth);
    if (node.kind == Setting::Kind::map) return entries(index, path, depth);
    std::vector<Setting::Entry> out;
    bool wrong = node.kind != Setting::Kind::list;
    for (uint32_t child : node.children) {
      wrong = wrong || raw_.nodes[child].kind != Setting::Kind::map;
      if (wrong) break;
      spend(raw_.nodes[child], path, depth + 1);
      for (Setting::Entry& entry : entries(child, path, depth + 1)) out.push_back(std::move(entry));
    }
    if (wrong && !judged)
      problems_.add(source_.at(node.line, node.column), path,
                    "'<<' merges a map or a list of maps, and this is neither");
    return out;
  }

  const Source& source_;
  const RawDocument& raw_;
  const YamlLimits& limits_;
  Problems& problems_;
  Problems& doubled_keys_;
  std::vector<bool> judged_;
  int nodes_ = 0;
  size_t text_ = 0;
};

}  // namespace

Document read_document(std::string_view text, const std::string& name, const YamlLimits& limits) {
  const Source source(text, name, limits.bytes);
  Problems problems;
  RawDocument raw = parse_yaml(source, limits, problems);
  return read_document(source, std::move(raw), limits, problems);
}

Document read_document(const Source& source, RawDocument raw, const YamlLimits& limits, Problems& problems) {
  Document out;
  out.anchored_keys = std::move(raw.anchored_keys);
  if (!raw.empty) out.root = Expander(source, raw, limits, problems, out.doubled_keys).value(raw.root, "", 0);
  else out.root.where = source.whole();
  problems.throw_if_any();
  return out;
}

Setting read_yaml_text(std::string_view text, const std::string& name, const YamlLimits& limits) {
  Document document = read_document(text, name, limits);
  document.doubled_keys.throw_if_any();
  return std::move(document.root);
}

Setting read_yaml_file(const std::string& path, const YamlLimits& limits) {
  return read_yaml_text(read_text_file(path, limits.bytes), path, limits);
}

}  // namespace neon
