#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include "neon/train/log_part.h"

namespace neon {

namespace {

class SpdlogWriter : public LogWriter {
 public:
  SpdlogWriter(const std::string& path, const std::function<void(const std::string&)>& failed)
      : logger_("neon", std::make_shared<spdlog::sinks::basic_file_sink_mt>(path)) {
    logger_.flush_on(spdlog::level::info);
    logger_.set_error_handler(failed);
  }
  void write(const std::string& line) override { logger_.info("{}", line); }

 private:
  spdlog::logger logger_;
};

std::unique_ptr<LogWriter> open_by_spdlog(const std::string& path,
                                          const std::function<void(const std::string&)>& failed) {
  return std::make_unique<SpdlogWriter>(path, failed);
}

const PartRegistration<LogPart> log_part({open_by_spdlog}, NEON_MODULE_VERSION);

}  // namespace

}  // namespace neon
