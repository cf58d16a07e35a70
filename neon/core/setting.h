// Our own tree of what a user wrote, with the place of every value: what the YAML reader makes, what
// --set edits, what parameters are read from, and what the resolved spec is written as.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace neon {

// A place in a text; line and column count from 1; 0 without a place (a command line, a default).
struct Location {
  std::shared_ptr<const std::string> file;
  int line = 0;
  int column = 0;
  std::string to_string() const;  // "mnist.yaml:14:11", "--set", or ""
  bool is_option() const { return file && line == 0; }
};

class Setting {
 public:
  enum class Kind { null, scalar, list, map };
  struct Entry;

  // Out of line: a tree's own, written out wherever one is handled, were a fifth of the whole build.
  Setting();
  Setting(const Setting& other);
  Setting(Setting&& other) noexcept;
  Setting& operator=(const Setting& other);
  Setting& operator=(Setting&& other) noexcept;
  ~Setting();
  static Setting scalar(std::string text, Location where = {});
  static Setting list(std::vector<Setting> items, Location where = {});
  static Setting map(std::vector<Entry> entries, Location where = {});

  Kind kind = Kind::null;
  std::string value;           // of a scalar, as written
  bool quoted = false;         // a quoted scalar is text, never a number
  std::vector<Setting> items;  // of a list
  std::vector<Entry> entries;  // of a map, in the order written; keys are unique
  Location where;
  std::string path;  // "layers[3].rate"; see set_paths

  bool is_null() const { return kind == Kind::null; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_list() const { return kind == Kind::list; }
  bool is_map() const { return kind == Kind::map; }

  const Setting* find(std::string_view key) const;  // of a map; null when absent
  Setting* find(std::string_view key);
  std::vector<std::string> keys() const;
  // "the number 3", "a list", ...: for messages.
  std::string describe() const;
  // Gives this and everything under it its path.
  void set_paths(std::string_view path);
  // One line of YAML flow style: {Conv: {nofm: 64}}
  std::string to_string() const;
};

struct Setting::Entry {
  std::string key;
  Setting value;
  Location where;  // of the key
};

// Everything found wrong in one reading; reported together.
class Problems {
 public:
  void add(const Setting& at, std::string message) { add(at.where, at.path, std::move(message)); }
  void add(const Location& where, std::string_view path, std::string message);
  bool empty() const { return lines_.empty(); }
  const std::vector<std::string>& lines() const { return lines_; }
  // Throws one config error with a line for each problem, of very many the first 20; nothing without a problem.
  void throw_if_any() const;

 private:
  std::vector<std::string> lines_;
};

}  // namespace neon
