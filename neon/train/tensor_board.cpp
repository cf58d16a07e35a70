// TensorBoard: costs and results of a run as event files.
#include <memory>

#include "neon/core/error.h"
#include "neon/core/paths.h"
#include "neon/train/callback.h"
#include "neon/train/clock.h"
#include "neon/train/event_file.h"

namespace neon {

namespace {

struct TensorBoardParams {
  std::string folder;
  int64_t every = 10;
  static void describe(auto&& p) {
    p("folder", &TensorBoardParams::folder,
      "Folder for the files. Default: that of the run, or without one `tensorboard` where the run is started.");
    p("every", &TensorBoardParams::every,
      "Steps from one point of the training cost to the next; 0: its mean over each epoch alone.", at_least(0),
      Unit{"steps"});
  }
};

class TensorBoard : public Parametrized<Callback, TensorBoardParams> {
 public:
  using Parametrized::Parametrized;
  // A run that is stopped amid an epoch leaves the points that it has.
  ~TensorBoard() override {
    if (file_) file_->flush();
  }
  void plan(RunPlan& plan) override {
    steps_per_epoch_ = plan.steps_per_epoch;
    resumes_ = !plan.begins, writes_ = plan.leads;
    folder_ = !params.folder.empty() ? params.folder : !plan.run_folder.empty() ? plan.run_folder : "tensorboard";
  }
  bool watches(const Progress& at) const override { return params.every > 0 && (at.step + 1) % params.every == 0; }
  void step_end(StepEnd& end) override {
    add(end.at.step + 1, {{"cost/train", end.program.output("cost").at(0)}});
    constexpr double kSecondsBetween = 1;  // an epoch may last for hours
    if (const double now = now_seconds(); file_ && warning_.empty() && now > flushed_ + kSecondsBetween) {
      warning_ = file_->flush();
      flushed_ = now;
    }
    if (!warning_.empty()) end.messages.push_back(std::exchange(warning_, ""));
  }
  void epoch_end(EpochEnd& end) override {
    std::vector<std::pair<std::string, double>> values = {{"epoch/cost", end.train_cost},
                                                          {"epoch/learning_rate", end.learning_rate}};
    for (const auto& [name, value] : end.results)
      values.emplace_back(name == "cost" ? "cost/evaluation" : "metrics/" + name, value);
    add(end.epoch * steps_per_epoch_, values);
    if (file_ && warning_.empty()) warning_ = file_->flush();
    if (!warning_.empty()) end.message = std::exchange(warning_, "");
  }

 private:
  void add(int64_t step, const std::vector<std::pair<std::string, double>>& values) {
    if (!writes_) return;
    try {
      if (!file_) file_ = std::make_unique<EventFile>(folder_, resumes_);
      file_->add(step, values);
    } catch (const Error& error) {  // nothing that is only looked at ends a run
      writes_ = false;
      warning_ = text("warning: TensorBoard: ", error.what(), "; training goes on");
    }
  }
  std::string folder_;
  int64_t steps_per_epoch_ = 1;
  bool resumes_ = false, writes_ = true;
  double flushed_ = 0;   // when
  std::string warning_;  // not told yet
  std::unique_ptr<EventFile> file_;
};
NEON_REGISTER(Callback, TensorBoard,
              "Writes costs, results and the learning rate of a run to an event file, which TensorBoard shows.");

}  // namespace

}  // namespace neon
