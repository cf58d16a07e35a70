// Tables as neon reads them, with what it notes or refuses.
#pragma once
#include "support.h"

namespace neon_test {

using namespace neon;

struct CodedTable {
  Data data;
  std::vector<std::string> notes;
};

inline CodedTable coded(const std::string& content, Keys keys = {{"test", "0"}}, int rules = kDataRules) {
  const TempDir dir;
  keys.push_back({"path", dir.write("a.csv", content)});
  CodedTable out;
  DataContext context = offline("", 3);
  context.warnings = &out.notes;
  context.rules = rules;
  out.data = make("CSV", keys)->load(context);
  return out;
}

inline std::string table_refusal(const std::string& content, const Keys& keys = {{"test", "0"}}) {
  const std::string error = error_of([&] { coded(content, keys); });
  const size_t at = error.find("a.csv");
  return at == error.npos ? error : error.substr(at);
}

}  // namespace neon_test
