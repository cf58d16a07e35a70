#include "neon/search/trials.h"

#include <fcntl.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "neon/core/error.h"
#include "neon/core/params.h"
#include "neon/train/file_lock.h"

namespace neon {

namespace {

using Json = nlohmann::ordered_json;
using Status = Trial::Status;

constexpr const char *kSettings = "settings.json", *kTrials = "trials.jsonl", *kLock = ".lock";
constexpr const char* kOfSpec = "config";  // the kind of such a failure, as --objective prints it
constexpr std::pair<const char*, Status> kStatuses[] = {{"running", Status::running},
                                                        {"done", Status::done},
                                                        {"pruned", Status::pruned},
                                                        {"failed", Status::failed},
                                                        {"diverged", Status::diverged}};

Json row_of(const Trial& trial) {
  Json row = {{"trial", trial.number}, {"status", name_of(trial.status)}};
  row["objective"] = trial.objective ? Json(*trial.objective) : Json();
  if (trial.cost) row["cost"] = *trial.cost;
  row["values"] = json_of(trial.values);
  row["seed"] = trial.seed;
  row["epochs"] = trial.epochs;
  row["seconds"] = trial.seconds;
  row["curve"] = trial.curve;
  if (!trial.cause.empty()) row["cause"] = trial.cause;
  if (trial.of_spec) row["kind"] = kOfSpec;
  return row;
}

Trial trial_of(const Json& row) {
  Trial out;
  const std::string status = row.at("status");
  const auto* known = std::ranges::find(kStatuses, status, &std::pair<const char*, Status>::first);
  if (known == std::end(kStatuses)) fail(ErrorKind::data, "status ", in_quotes(status), " is unknown");
  out.status = known->second;
  out.number = row.at("trial");
  for (const auto& [name, value] : row.at("values").items())
    out.values[name] = value.is_number() ? number(value.get<double>()) : value.get<std::string>();
  out.seed = row.at("seed");
  out.epochs = row.at("epochs");
  out.seconds = row.at("seconds");
  out.curve = row.at("curve");
  if (!row.at("objective").is_null()) out.objective = row.at("objective").get<double>();
  if (row.contains("cost")) out.cost = row.at("cost").get<double>();  // older searches have none
  out.cause = row.value("cause", "");
  out.of_spec = row.value("kind", "") == kOfSpec;
  return out;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  if (!file) fail(ErrorKind::data, path, ": cannot be read");
  return out.str();
}

}  // namespace

const char* name_of(Status status) {
  return std::ranges::find(kStatuses, status, &std::pair<const char*, Status>::second)->first;
}

TrialFolder::TrialFolder(const std::string& folder, const Json& settings) : folder_(folder), settings_(settings) {
  make_folder_of(file(kTrials));
  lock_ = FileHandle(::open(file(kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock_) fail(ErrorKind::failed, folder, ": ", system_message(errno));
  if (!lock_file(lock_.get(), true)) fail(ErrorKind::failed, folder, ": another search is at work in this folder");
  if (!std::filesystem::exists(file(kSettings))) {
    if (std::filesystem::exists(file(kTrials)))
      fail(ErrorKind::data, file(kTrials), " stands without ", kSettings, "; give another --folder");
    write_settings();
    return;
  }
  Json there = Json::parse(content_of(file(kSettings)), nullptr, false);
  if (!there.is_object()) fail(ErrorKind::data, file(kSettings), ": is no JSON object; give another --folder");
  if (there.contains("objective") && there["objective"].is_object())
    objective_ = {there["objective"].value("name", ""), there["objective"].value("better", "") == "higher"};
  for (const auto& [key, value] : settings.items())
    if (!there.contains(key) || there[key] != value)
      fail(ErrorKind::config, folder, " has trials with another ", key, ", ",
           printable(there.value(key, Json()).dump(), 80), "; give another --folder, or remove this one");
  settings_ = std::move(there);
  read_trials();
}

void TrialFolder::write_settings() const { write_whole(file(kSettings), settings_.dump(2) + "\n"); }

void TrialFolder::set_objective(const Objective& objective) {
  objective_ = objective;
  settings_["objective"] = {{"name", objective.name}, {"better", objective.rises ? "higher" : "lower"}};
  write_settings();
}

void TrialFolder::read_trials() {
  if (!std::filesystem::exists(file(kTrials))) return;
  std::istringstream lines(content_of(file(kTrials)));
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    try {
      trials_.push_back(trial_of(Json::parse(line)));
    } catch (const std::exception& error) {
      fail(ErrorKind::data, file(kTrials), ":", number, ": is no trial of a search: ", printable(error.what(), 120));
    }
    if (trials_.back().number != number)
      fail(ErrorKind::data, file(kTrials), ":", number, ": expected trial ", number, ", found ", trials_.back().number);
  }
}

void TrialFolder::save() const {
  std::string out;
  for (const Trial& trial : trials_) out += row_of(trial).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  write_whole(file(kTrials), out);
}

const Trial* TrialFolder::best() const {
  const Trial* out = nullptr;
  for (const Trial& trial : trials_) {
    if (trial.status != Status::done || !trial.objective) continue;
    const bool wins_tie =
        out && trial.objective == out->objective && trial.cost && out->cost && *trial.cost < *out->cost;
    if (!out || wins_tie || objective_.cost(*trial.objective) < objective_.cost(*out->objective)) out = &trial;
  }
  return out;
}

nlohmann::ordered_json json_of(const Values& values) {
  Json out = Json::object();
  for (const auto& [name, value] : values) {
    double x = 0;
    const bool is_number = detail::read_real(Setting::scalar(value), x) && std::isfinite(x) && number(x) == value;
    if (is_number && std::floor(x) == x && std::abs(x) < 1e15) out[name] = int64_t(x);
    else if (is_number) out[name] = x;
    else out[name] = value;
  }
  return out;
}

std::optional<uint64_t> stored_seed(const std::string& folder) {
  std::ifstream file(folder + "/" + kSettings);
  const Json settings = file ? Json::parse(file, nullptr, false) : Json();
  if (!settings.is_object() || !settings.contains("seed") || !settings["seed"].is_number()) return std::nullopt;
  return settings["seed"].get<uint64_t>();
}

void write_whole(const std::string& path, const std::string& content) {
  AtomicFile file(path);
  file.write(content.data(), content.size());
  file.commit();
}

}  // namespace neon
