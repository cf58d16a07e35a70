#include <curl/curl.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "datasets/fetch_part.h"
#include "neon/core/error.h"

namespace neon {

namespace {

size_t receive(char* bytes, size_t one, size_t count, void* order) {
  const auto& to = *static_cast<const FetchOrder*>(order);
  return to.take(to.to, {bytes, one * count}) ? count : 0;
}

struct CurlCleanup {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};

FetchOutcome fetch_by_curl(const FetchOrder& order) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  const std::unique_ptr<CURL, CurlCleanup> handle(curl_easy_init());
  if (!handle) fail(ErrorKind::memory, "libcurl has no memory for a download");
  char detail[CURL_ERROR_SIZE] = "";
  CURL* curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, order.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, order.protocols);
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, order.protocols);
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "neon");
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, std::max(1L, long(order.connect_seconds * 1000)));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1024L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, std::max(1L, long(order.stall_seconds)));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, std::max(1L, long(order.most_seconds * 1000)));
  curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(order.size_cap));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &receive);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, const_cast<FetchOrder*>(&order));
  const CURLcode code = curl_easy_perform(curl);
  if (code == CURLE_OK) return {.came = true};
  return {.broke_off = code == CURLE_PARTIAL_FILE, .problem = *detail ? detail : curl_easy_strerror(code)};
}

const PartRegistration<FetchPart> fetch_part({fetch_by_curl}, NEON_MODULE_VERSION);

}  // namespace

}  // namespace neon
