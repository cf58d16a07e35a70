// Reports of an evaluation as text, CSV and JSON.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "datasets/sample_meaning.h"
#include "neon/train/outcome.h"

namespace neon {

// `names` are those of the classes, or of the outputs; numbers stand for missing ones. Classes of pixels have their
// intersection over union, too.
void print_class_report(const ClassReport& report, const std::vector<std::string>& names, LabelOf of);
// CSV, a line for each class.
void print_class_table(const ClassReport& report, const std::vector<std::string>& names, LabelOf of);
nlohmann::json class_report_json(const ClassReport& report, const std::vector<std::string>& names, LabelOf of);

void print_value_report(const Outcome& outcome, const std::vector<std::string>& names);
void print_value_table(const Outcome& outcome, const std::vector<std::string>& names);
nlohmann::json value_report_json(const Outcome& outcome, const std::vector<std::string>& names);

}  // namespace neon
