#include "neon/report/live.h"

namespace neon {

void serve_page(const LiveOptions& options, const std::function<std::string()>& data,
                const std::function<void(const std::string&)>& ready) {
  part<LivePart>().serve(options, data, ready);
}

}  // namespace neon
