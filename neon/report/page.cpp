#include "neon/report/page.h"

#include <map>

#include "datasets/hash.h"
#include "neon/core/error.h"
#include "neon/report/base64.h"

// Files of this folder, made part of the program by the build.
extern const char report_page_text[];
extern const char report_style_text[];
extern const char report_script_text[];
extern const char uplot_licence_text[];

namespace neon {

namespace {

// The digest by which a policy allows one script or style.
std::string policy_hash(const std::string& content) {
  const std::string digits = sha256(content);
  std::string bytes;
  for (size_t i = 0; i < digits.size(); i += 2) bytes += char(std::stoi(digits.substr(i, 2), nullptr, 16));
  return text("'sha256-", base64(bytes), "'");
}

// Nothing is fetched, nothing runs but the page's own script; a live page may ask its own server.
std::string policy(const std::string& style, const std::string& script, bool live) {
  return text("default-src 'none'; script-src ", policy_hash(script), "; style-src ", policy_hash(style),
              "; img-src data:; connect-src ", live ? "'self'" : "'none'", "; base-uri 'none'; form-action 'none'");
}

std::string replaced(std::string in, char letter, std::string_view by) {
  for (size_t at = in.find(letter); at != in.npos; at = in.find(letter, at + by.size())) in.replace(at, 1, by);
  return in;
}

// Data between the tags of a script: no text in it can close them.
std::string inside_script(const std::string& json) {
  std::string out;
  out.reserve(json.size() + json.size() / 64);
  for (const char c : json)
    if (c == '<') out += "\\u003c";
    else out += c;
  return out;
}

// The form with {{NAME}} replaced by the part of that name.
std::string filled(std::string_view form, const std::map<std::string, std::string, std::less<>>& parts) {
  std::string out;
  for (size_t at = 0;;) {
    const size_t open = form.find("{{", at);
    out += form.substr(at, open - at);
    if (open == form.npos) return out;
    const size_t close = form.find("}}", open);
    const auto part = parts.find(form.substr(open + 2, close - open - 2));
    NEON_ASSERT(close != form.npos && part != parts.end());
    out += part->second;
    at = close + 2;
  }
}

}  // namespace

std::string page_text(const std::string& data, bool live) {
  const std::string style = report_style_text, script = report_script_text;
  return filled(report_page_text, {{"policy", policy(style, script, live)},
                                   {"style", style},
                                   {"script", script},
                                   {"licence", replaced(replaced(uplot_licence_text, '&', "&amp;"), '<', "&lt;")},
                                   {"live", live ? "true" : "false"},
                                   {"data", inside_script(data)}});
}

}  // namespace neon
