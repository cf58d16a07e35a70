// Tells whether a .safetensors file is a checkpoint, and names those kept beside the newest. For the
// checkpoint files in this folder.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "neon/train/safetensors_header.h"

namespace neon {

inline constexpr int64_t kCheckpointFormat = 1;
inline constexpr const char* kFormatKey = "neon.format";
inline constexpr const char* kRunKey = "neon.run";
inline constexpr const char* kEpochKey = "neon.epoch";
inline constexpr const char* kNumberKey = "neon.number";
inline constexpr const char* kChecksumsKey = "neon.checksums";
inline constexpr const char* kHeaderChecksumKey = "neon.header_checksum";

// "crc32:0a1b2c3d" of some bytes.
std::string checksum(const void* data, size_t bytes);

// A header text whose kHeaderChecksumKey is all zeros gets its checksum.
void seal_header(std::string& header_text);

// Checks format and header checksum; returns the checksum of each tensor. Throws a data error.
std::map<std::string, std::string> check_header(const SafetensorsReader& reader, const std::string& path);

// Checks all of it without holding more than one piece in memory. Throws a data error.
void verify_checkpoint(const SafetensorsReader& reader, const std::string& path);

// The run that a file is a checkpoint of, also where it is cut off or its data are damaged; "" where its header is.
std::string run_of(const std::string& path);

// A whole number of a checkpoint's metadata; throws a data error.
int64_t metadata_number(const SafetensorsHeader& header, const char* key, const std::string& path);

struct OlderCheckpoint {
  std::string path;
  int64_t epoch = 0, number = 0;
};
std::string older_path(const std::string& path, int64_t epoch, int64_t number);
// All files beside `path` with such a name, newest first. A folder that cannot be listed has none.
std::vector<OlderCheckpoint> older_checkpoints(const std::string& path);

}  // namespace neon
