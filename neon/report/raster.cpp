#include "neon/report/raster.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>

#include "datasets/composed_letters.h"
#include "datasets/png_image.h"

namespace neon {

namespace {

struct Letter {
  int width, top;
  const char* darkness;
};

constexpr Letter kLetters[] = {
#include "neon/report/letters.inc"
};

struct LetterOfCode {
  char32_t code;
  Letter letter;
};

constexpr LetterOfCode kLatin[] = {
#include "neon/report/letters_latin.inc"
};
constexpr LetterOfCode kVietnamese[] = {
#include "neon/report/letters_vietnamese.inc"
};
constexpr LetterOfCode kOther[] = {
#include "neon/report/letters_other.inc"
};

const Letter* letter_of(char32_t code) {
  if (code >= 0x20 && code < 0x7f) return &kLetters[code - 0x20];
  for (const std::span<const LetterOfCode> table : {std::span<const LetterOfCode>(kLatin), {kVietnamese}, {kOther}}) {
    const auto found = std::ranges::lower_bound(table, code, {}, &LetterOfCode::code);
    if (found != table.end() && found->code == code) return &found->letter;
  }
  return nullptr;
}

int digit_of(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

// The letters of a UTF-8 text, one by one. The number of its code point, as \u4e2d, stands for a letter without pixels.
void for_each_letter(std::string_view text, auto&& see) {
  while (!text.empty()) {
    CodePoint point = first_code_point(text);
    text.remove_prefix(point.bytes);
    while (!text.empty()) {
      const CodePoint mark = first_code_point(text);
      const char32_t both = composed(point.value, mark.value);
      if (both == 0) break;
      point.value = both;
      text.remove_prefix(mark.bytes);
    }
    if (const Letter* const letter = letter_of(point.value)) {
      see(*letter);
      continue;
    }
    char number[16];
    std::snprintf(number, sizeof number, "\\u%04x", unsigned(point.value));
    for (const char* c = number; *c; ++c) see(*letter_of(char32_t(*c)));
  }
}

}  // namespace

Raster::Raster(int64_t width, int64_t height, Ink paper) : pixels_(DType::u8, {height, width, 3}) {
  fill(0, 0, width, height, paper);
}

void Raster::blend(int64_t x, int64_t y, Ink ink, double share) {
  if (x < 0 || y < 0 || x >= width() || y >= height()) return;
  uint8_t* const pixel = &pixels_.as<uint8_t>()[size_t((y * width() + x) * 3)];
  const uint8_t inks[] = {ink.red, ink.green, ink.blue};
  for (size_t c = 0; c < 3; ++c) pixel[c] = uint8_t(std::lround(pixel[c] + share * (inks[c] - pixel[c])));
}

void Raster::fill(int64_t x, int64_t y, int64_t width, int64_t height, Ink ink, double share) {
  for (int64_t row = y; row < y + height; ++row)
    for (int64_t column = x; column < x + width; ++column) blend(column, row, ink, share);
}

void Raster::line(double x0, double y0, double x1, double y1, Ink ink, double thickness) {
  const double dx = x1 - x0, dy = y1 - y0, length = std::hypot(dx, dy), reach = thickness / 2 + 1;
  const auto low = [&](double a, double b) { return int64_t(std::floor(std::min(a, b) - reach)); };
  const auto high = [&](double a, double b) { return int64_t(std::ceil(std::max(a, b) + reach)); };
  const int64_t top = std::max<int64_t>(low(y0, y1), 0), bottom = std::min(high(y0, y1), height() - 1);
  const int64_t left = std::max<int64_t>(low(x0, x1), 0), right = std::min(high(x0, x1), width() - 1);
  for (int64_t y = top; y <= bottom; ++y)
    for (int64_t x = left; x <= right; ++x) {
      // The distance of the pixel's middle from the line.
      const double px = double(x) + 0.5 - x0, py = double(y) + 0.5 - y0;
      const double along = length > 0 ? std::clamp((px * dx + py * dy) / length, 0.0, length) : 0;
      const double away =
          length > 0 ? std::hypot(px - along * dx / length, py - along * dy / length) : std::hypot(px, py);
      if (const double share = thickness / 2 + 0.5 - away; share > 0) blend(x, y, ink, std::min(share, 1.0));
    }
}

void Raster::write(int64_t x, int64_t y, std::string_view text, Ink ink) {
  for_each_letter(text, [&](const Letter& letter) {
    const std::string_view darkness = letter.darkness;
    for (size_t i = 0; i < darkness.size(); ++i)
      if (const int dark = digit_of(darkness[i]); dark > 0)
        blend(x + int64_t(i) % letter.width, y + letter.top + int64_t(i) / letter.width, ink, dark / 15.0);
    x += letter.width;
  });
}

int64_t Raster::width_of(std::string_view text) {
  int64_t out = 0;
  for_each_letter(text, [&](const Letter& letter) { out += letter.width; });
  return out;
}

void Raster::put(const Tensor& image, int64_t x, int64_t y, int64_t factor) {
  const int64_t channels = image.shape()[2], across = image.shape()[1];
  for (int64_t i = 0; i < image.shape()[0] * across; ++i) {
    const auto of = [&](int64_t c) { return uint8_t(image.at(i * channels + (channels == 3 ? c : 0))); };
    fill(x + i % across * factor, y + i / across * factor, factor, factor, {of(0), of(1), of(2)});
  }
}

std::string Raster::png() const { return png_bytes(pixels_); }

}  // namespace neon
