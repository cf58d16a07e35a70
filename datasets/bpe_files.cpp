#include "datasets/bpe_files.h"

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "datasets/file.h"
#include "neon/core/error.h"

namespace neon {

namespace {

using nlohmann::json;

constexpr int64_t kMostBytes = int64_t(1) << 28;

std::string utf8_of(uint32_t code) {  // below 0x800
  if (code < 0x80) return std::string(1, char(code));
  return {char(0xc0 | code >> 6), char(0x80 | (code & 0x3f))};
}

struct ByteLetters {
  std::string letter[256];
  std::unordered_map<std::string_view, char> byte;
  ByteLetters() {
    // Printable bytes stand for themselves, the others for letters from U+0100 on.
    const std::vector<std::string> bytes = bpe_bytes();
    uint32_t next = 0x100;
    for (size_t i = 0; i < bytes.size(); ++i) {
      const auto value = uint8_t(bytes[i][0]);
      letter[value] = utf8_of(i < kPrintable ? value : next++);
    }
    for (int value = 0; value < 256; ++value) byte.emplace(letter[value], char(value));
  }
  static constexpr size_t kPrintable = 94 + 12 + 82;
};

const ByteLetters& byte_letters() {
  static const ByteLetters out;
  return out;
}

class MergesReader {
 public:
  MergesReader(const std::string& path, const std::string& numbers) : path_(path) {
    if (numbers.empty()) out_.texts = bpe_bytes();
    else read_numbers(numbers);
    add_all();
    out_.unit = TextUnit::bpe;
  }

  Vocabulary run() {
    const std::string content = read_file(path_, kMostBytes);
    int64_t line = 0;
    for (size_t at = 0; at < content.size();) {
      const size_t end = std::min(content.find('\n', at), content.size());
      std::string_view text(content.data() + at, end - at);
      if (text.ends_with('\r')) text.remove_suffix(1);
      at = end + 1;
      if (++line == 1 && text.starts_with("#version")) continue;
      if (!text.empty()) add(text, line);
    }
    if (!numbered_) add_text(std::string(kEndOfText));
    check_bpe(out_, path_);
    return std::move(out_);
  }

 private:
  // {"text": token, ...}, each token from 0 on once.
  void read_numbers(const std::string& path) {
    numbered_ = true;
    const json all = json::parse(read_file(path, kMostBytes), nullptr, false);
    if (!all.is_object()) fail(ErrorKind::data, path, ": is no JSON object of texts and their numbers");
    out_.texts.resize(all.size());
    std::vector<bool> taken(all.size());
    for (const auto& [letters, number] : all.items()) {
      const int64_t token = number.is_number_integer() ? number.get<int64_t>() : -1;
      if (token < 0 || token >= int64_t(all.size()) || taken[size_t(token)])
        fail(ErrorKind::data, path, ": the number of ", in_quotes(letters), " is ", in_quotes(number.dump()),
             "; expected each of 0 to ", all.size() - 1, " once");
      taken[size_t(token)] = true;
      out_.texts[size_t(token)] = bytes_of_letters(letters, path);
    }
  }

  void add_all() {
    for (size_t i = 0; i < out_.texts.size(); ++i) tokens_.emplace(out_.texts[i], int32_t(i));
  }
  void add_text(const std::string& text) {
    if (tokens_.emplace(text, int32_t(out_.texts.size())).second) out_.texts.push_back(text);
  }

  int32_t token_of(std::string_view letters, int64_t line) const {
    const auto found = tokens_.find(bytes_of_letters(std::string(letters), text(path_, ":", line)));
    if (found == tokens_.end())
      fail(ErrorKind::data, path_, ":", line, ": ", in_quotes(letters),
           numbered_ ? " has no number" : " is neither a byte nor a pair of a line before");
    return found->second;
  }

  void add(std::string_view line, int64_t number) {
    const size_t space = line.find(' ');
    if (space == line.npos || line.find(' ', space + 1) != line.npos)
      fail(ErrorKind::data, path_, ":", number, ": expected two texts with a space between them, got ",
           in_quotes(line));
    const TokenPair pair{token_of(line.substr(0, space), number), token_of(line.substr(space + 1), number)};
    const std::string together = out_.text_of(pair.left) + out_.text_of(pair.right);
    if (!numbered_) add_text(together);
    else if (!tokens_.contains(together))
      fail(ErrorKind::data, path_, ":", number, ": ", in_quotes(bpe_letters(together)), " has no number");
    out_.merges.push_back(pair);
  }

  const std::string path_;
  bool numbered_ = false;
  Vocabulary out_;
  std::unordered_map<std::string, int32_t> tokens_;
};

}  // namespace

std::string bpe_letters(const std::string& bytes) {
  std::string out;
  for (const char byte : bytes) out += byte_letters().letter[uint8_t(byte)];
  return out;
}

std::string bytes_of_letters(const std::string& letters, const std::string& source) {
  std::string out;
  for (std::string_view rest = letters; !rest.empty();) {
    const std::string_view one = rest.substr(0, std::max<size_t>(utf8_length(rest), 1));
    const auto found = byte_letters().byte.find(one);
    if (found == byte_letters().byte.end())
      fail(ErrorKind::data, source, ": ", in_quotes(one), " in ", in_quotes(letters), " stands for no byte");
    out += found->second;
    rest.remove_prefix(one.size());
  }
  return out;
}

Vocabulary read_bpe(const std::string& merges, const std::string& numbers) {
  return MergesReader(merges, numbers).run();
}

void check_bpe(const Vocabulary& v, const std::string& source) {
  const auto tokens = int64_t(v.texts.size());
  std::unordered_map<std::string_view, int64_t> token_of;
  for (size_t i = 0; i < v.texts.size(); ++i)
    if (v.texts[i].empty() || !token_of.emplace(v.texts[i], int64_t(i)).second)
      fail(ErrorKind::data, source, ": token ", i, " has the text ", in_quotes(v.texts[i]), ", ",
           v.texts[i].empty() ? "which is empty" : "as one before it");
  std::vector<bool> reached(v.texts.size());
  for (int byte = 0; byte < 256; ++byte) {
    const char one = char(byte);
    const auto found = token_of.find(std::string_view(&one, 1));
    if (found == token_of.end()) fail(ErrorKind::data, source, ": the byte ", byte, " has no token");
    reached[size_t(found->second)] = true;
  }
  std::unordered_set<uint64_t> seen;
  for (size_t i = 0; i < v.merges.size(); ++i) {
    const TokenPair& pair = v.merges[i];
    const auto is_there = [&](int64_t token) { return token >= 0 && token < tokens && reached[size_t(token)]; };
    if (!is_there(pair.left) || !is_there(pair.right) || !seen.insert(pair.key()).second)
      fail(ErrorKind::data, source, ": pair ", i, " is of the tokens ", pair.left, " and ", pair.right,
           ", of which one cannot be there yet, or occurs twice");
    const std::string together = v.texts[size_t(pair.left)] + v.texts[size_t(pair.right)];
    const auto found = token_of.find(together);
    if (found == token_of.end())
      fail(ErrorKind::data, source, ": pair ", i, " makes ", in_quotes(bpe_letters(together)), ", which has no token");
    reached[size_t(found->second)] = true;
  }
}

}  // namespace neon
