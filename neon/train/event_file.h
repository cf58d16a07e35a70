// A file of events as TensorBoard reads them: numbers by name and step (TFRecord around protobuf).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neon/train/growing_file.h"

namespace neon {

// CRC-32C (Castagnoli) of the bytes.
uint32_t crc32c_of(std::string_view bytes);

class EventFile {
 public:
  // A new file in `folder`, which is made. Throws a failed error. With `resumes`, readers drop what earlier files of
  // the folder have from the first event's step on.
  EventFile(const std::string& folder, bool resumes);
  void add(int64_t step, const std::vector<std::pair<std::string, double>>& values);
  // Hands all events to the system. Returns a warning once where that fails, else "".
  std::string flush() { return file_.flush(); }

 private:
  void add_event(int64_t step, const std::string& more);
  GrowingFile file_;
  bool resumes_;
};

}  // namespace neon
