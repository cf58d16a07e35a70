// The page that shows runs: one HTML file with all data, styles and scripts in it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "neon/report/run.h"

namespace neon {

// Bytes of curves that a page takes at most, before they become text; longer curves are thinned.
inline constexpr size_t kPageBytes = 9'000'000;

// The first bytes of every page.
inline constexpr std::string_view kPageBegin = "<!doctype html><!-- neon plot -->";

// The data of a page as JSON: names, settings, curves as base64 of little-endian numbers.
std::string page_data(const std::vector<ReportedRun>& runs);

// A page about data of page_data(). A live one asks its server for newer data, and may do so by its policy.
std::string page_text(const std::string& data, bool live = false);

}  // namespace neon
