#include "neon/core/error.h"
#include "neon/report/live.h"

namespace neon {

void serve_page(const LiveOptions&, const std::function<std::string()>&,
                const std::function<void(const std::string&)>&) {
  fail(ErrorKind::failed,
       "option --live: this neon was built without cpp-httplib (Debian: libcpp-httplib-dev); -o report.html writes the "
       "page as a file");
}

}  // namespace neon
