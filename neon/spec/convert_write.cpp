// Writes a converted spec with remarks, comments and anchors.
#include <algorithm>
#include <map>
#include <set>

#include "neon/core/text.h"
#include "neon/spec/comments.h"
#include "neon/spec/yaml_write.h"

namespace neon {

namespace {

constexpr size_t kWidestComment = 110;

using Place = std::pair<int, int>;
Place place_of(const Location& where) { return {where.line, where.column}; }

// Every place in a tree: of keys and of values.
void each_place(const Setting& setting, const auto& visit) {
  visit(setting.where, setting);
  for (const Setting& item : setting.items) each_place(item, visit);
  for (const Setting::Entry& entry : setting.entries) {
    visit(entry.where, entry.value);
    each_place(entry.value, visit);
  }
}

// Lines of at most so many bytes, broken at spaces.
std::vector<std::string> wrapped(const std::string& text_, size_t width) {
  std::vector<std::string> out(1);
  for (size_t at = 0; at < text_.size();) {
    const size_t end = std::min(text_.find(' ', at), text_.size());
    const std::string_view word = std::string_view(text_).substr(at, end - at);
    if (!out.back().empty() && out.back().size() + 1 + word.size() > width) out.emplace_back();
    if (!out.back().empty()) out.back() += ' ';
    out.back() += word;
    at = end + 1;
  }
  return out;
}

class ConvertedMargin : public YamlMargin {
 public:
  ConvertedMargin(const Setting& root, const Conversion& conversion) : begin_(place_of(root.where)) {
    each_place(root, [&](const Location& where, const Setting&) {
      places_.insert(place_of(where));
      lines_.insert(where.line);
    });
    for (const Remark& remark : conversion.remarks)
      if (places_.contains(place_of(remark.where))) remarks_[place_of(remark.where)].push_back(remark.text);
      else gone_.push_back(text("line ", remark.where.line, ": ", remark.text));
    for (const Remark& comment : conversion.comments) keep(comment);
    for (const Remark& anchor : conversion.anchors) anchors_[place_of(anchor.where)] = anchor.text;
    count_anchored(root);
  }

  const std::vector<std::string>& gone() const { return gone_; }
  const std::vector<std::string>& first() const { return first_; }
  const std::vector<std::string>& left() const { return left_; }

  std::string above(const Location& where, const Setting& value, size_t indent) override {
    std::string out;
    const auto say = [&](const Location& at) {
      if (const auto own = comments_.extract(at.line); own)
        for (const std::string& line : own.mapped()) out.append(indent, ' ') += printable(line) + '\n';
      if (const auto said = remarks_.extract(place_of(at)); said)
        for (const std::string& remark : said.mapped())
          for (const std::string& line : wrapped(remark, kWidestComment - indent))
            out.append(indent, ' ') += "# " + printable(line) + '\n';
    };
    say(where);
    say(value.where);
    for (const Setting& item : value.items)
      if (item.is_scalar()) say(item.where);
    return out;
  }

  std::string anchor(const Setting& value) override {
    const auto name = anchors_.find(place_of(value.where));
    if (name == anchors_.end()) return "";
    const auto [first, is_new] = written_.emplace(name->first, value.to_string());
    if (!is_new) return first->second == value.to_string() ? "*" + name->second : "";
    return twice_.contains({name->first, value.to_string()}) ? "&" + name->second : "";
  }

 private:
  // A comment that stands alone goes to the next line that is there.
  void keep(const Remark& comment) {
    const auto line = lines_.lower_bound(comment.where.line);
    if (place_of(comment.where) == begin_) first_.push_back(comment.text);
    else if (comment.where.line > 0 && line != lines_.end()) comments_[*line].push_back(comment.text);
    else left_.push_back(comment.text);
  }

  void count_anchored(const Setting& setting) {
    const Place place = place_of(setting.where);
    if (anchors_.contains(place) && !seen_.insert({place, setting.to_string()}).second)
      twice_.insert({place, setting.to_string()});
    for (const Setting& item : setting.items) count_anchored(item);
    for (const Setting::Entry& entry : setting.entries) count_anchored(entry.value);
  }

  std::set<Place> places_;
  std::set<int> lines_;
  std::map<Place, std::vector<std::string>> remarks_;
  std::map<int, std::vector<std::string>> comments_;
  std::map<Place, std::string> anchors_, written_;
  std::set<std::pair<Place, std::string>> seen_, twice_;
  Place begin_;
  std::vector<std::string> first_, gone_, left_;
};

}  // namespace

std::string write_converted(const Setting& root, const Conversion& conversion) {
  ConvertedMargin margin(root, conversion);
  const std::string body = write_yaml(root, margin);
  std::string out;
  for (const std::string& remark : margin.gone())
    for (const std::string& line : wrapped(remark, kWidestComment)) out += "# " + printable(line) + '\n';
  for (const std::string& comment : margin.first()) out += printable(comment) + '\n';
  out += body;
  for (const std::string& comment : margin.left()) out += printable(comment) + '\n';
  return out;
}

}  // namespace neon
