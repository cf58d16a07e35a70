#!/usr/bin/python3
"""neon search: trials as rows of a folder, the best spec, a search that is killed and goes on, lines for others."""
import json
import os
import shlex
import signal
import time

import support
from support import Case

SEARCH = """\
dataset: Iris
layers:
  - Affine: {nout: {search: {int: [2, 12], name: units}}, init: Kaiming, activation: Tanh}
  - Affine: {nout: 3, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer:
  GradientDescentMomentum: {learning_rate: {search: {log: [1e-3, 1]}}, momentum_coef: 0.5}
batch_size: 16
epochs: 3
"""
# Each trial takes long enough to be killed in.
LONG = """\
dataset: {UniformRandom: {ntrain: 600, ntest: 40, nin: 10, nout: 3}}
layers: [Affine: {nout: {search: {int: [4, 40], name: units}}, init: Kaiming, activation: Tanh}, Affine: {nout: 3, init: Kaiming, activation: Softmax}]
cost: CrossEntropyMulti
optimizer: Adam
batch_size: 2
epochs: 30
"""
RATE = "optimizer.learning_rate"


class Search(Case):
    def rows(self, folder):
        return [json.loads(line) for line in self.read(f"{folder}/trials.jsonl").decode().splitlines()]

    def search(self, spec, *arguments, **options):
        return self.neon("search", spec, "-b", "cpu", "-r", "3", *arguments, **options)

    def test_trials_are_rows_and_the_best_is_a_spec(self):
        spec = self.spec(SEARCH)
        said = self.search(spec, "--trials", "6")
        self.assertIn("note: without a validation set, trials are compared by the test set", said.err)
        rows = self.rows("s-search")
        self.assertEqual([row["trial"] for row in rows], [1, 2, 3, 4, 5, 6])
        for row in rows:
            self.assertEqual((row["status"], row["epochs"], row["seed"]), ("done", 3, 3))
            self.assertEqual(list(row["values"]), [RATE, "units"])
            self.assertTrue(2 <= row["values"]["units"] <= 12 and 1e-3 <= row["values"][RATE] <= 1)
            self.assertGreater(row["seconds"], 0)
        self.assertGreater(len({row["values"][RATE] for row in rows}), 5)
        best = min(rows, key=lambda row: (row["objective"], row["cost"]))
        self.assertIn(f"best: trial {best['trial']}, done, Top1Misclass {best['objective']:.6g};", said.out)
        # The best spec, trained by itself with the same seed, gives the same result.
        alone = self.neon("s-search/best.yaml", "-b", "cpu", "-r", "3").out
        self.assertIn(f"Top1Misclass {100 * best['objective']:.2f} %", alone)
        values = [word for name, value in best["values"].items() for word in ("--value", f"{name}={value}")]
        again = self.neon(spec, "-b", "cpu", "-r", "3", *values)
        self.assertIn(f"Top1Misclass {100 * best['objective']:.2f} %", again.out)
        self.assertNotIn("warning: s.yaml", again.err)

    def test_the_best_spec_has_the_options_of_the_search(self):
        spec = self.spec(SEARCH)
        self.search(spec, "--trials", "3", "-e", "5", "-z", "40", "--caffe", "--set", "layers[0].activation=Logistic")
        best = min(self.rows("s-search"), key=lambda row: row["objective"])
        text = self.read("s-search/best.yaml").decode()
        for line in "epochs: 5", "batch_size: 40", "rng_seed: 3", "activation: Logistic":
            self.assertIn(line, text)
        self.assertIn("# Give this spec the options --caffe, as the search had them.", text)
        result = f"Top1Misclass {100 * best['objective']:.2f} %"
        self.assertIn(result, self.neon("s-search/best.yaml", "-b", "cpu", "--caffe").out)
        command = text.splitlines()[1].removeprefix("# The same: neon ")
        self.assertIn(result, self.neon(*shlex.split(command), "-b", "cpu").out)

    def test_folds_have_a_mean_and_a_deviation(self):
        content = SEARCH.replace("dataset: Iris", "dataset: {Iris: {folds: 3, fold: {search: {int: [1, 3]}}}}")
        spec = self.spec(content.replace("{log: [1e-3, 1]}", "{choice: [0.01, 0.3]}").replace("{int: [2, 12], name: units}", "{int: [5, 5]}"))
        said = self.search(spec, "--trials", "6", "--method", "grid").out
        means = []
        for rate in 0.01, 0.3:
            found = [row["objective"] for row in self.rows("s-search") if row["values"][RATE] == rate]
            self.assertEqual(len(found), 3)
            mean = sum(found) / 3
            deviation = (sum((x - mean) ** 2 for x in found) / 2) ** 0.5
            means.append((mean, f"layers[0].nout 5, {RATE} {rate}, mean of 3 folds: Top1Misclass {mean:.6g}, deviation {deviation:.6g}\n"))
        lines = "".join(line for _, line in sorted(means))
        self.assertIn(lines, said)

    def test_the_best_spec_of_phases_keeps_their_epochs(self):
        spec = self.spec(SEARCH.replace("epochs: 3\n", "") + "phases: [{name: one, epochs: 1}, {name: two, epochs: 3}]\n")
        self.search(spec, "--trials", "2", "-e", "3")
        best = min(self.rows("s-search"), key=lambda row: row["objective"])
        self.assertIn("# Give this spec the options --epochs=3, as the search had them.", self.read("s-search/best.yaml").decode())
        self.assertIn(f"Top1Misclass {100 * best['objective']:.2f} %", self.neon("s-search/best.yaml", "-b", "cpu", "-e", "3").out)

    def test_what_all_trials_share_is_checked_before_the_first(self):
        spec = self.spec(SEARCH)
        self.refused(2, "search", spec, "--metric", "Top1Mis", says="did you mean Top1Misclass?")
        lost = self.spec(SEARCH.replace("dataset: Iris", "dataset: {CSV: {path: lost.csv}}"), "lost.yaml")
        self.refused(3, "search", lost, says="lost.csv")
        phases = self.spec(SEARCH.replace("epochs: 3\n", "") + "phases: [{name: one, epochs: 2}, {name: two, epochs: 3}]\n", "p.yaml")
        for verb in ["search"], ["search", "--objective", "--value", f"{RATE}=0.1", "--value", "units=3"]:
            self.refused(2, *verb, phases, "-e", "2", says="-e 2 ends before the last phase, two, by which trials are compared")
        self.assertFalse(os.path.exists(self.path("s-search")))
        self.assertFalse(os.path.exists(self.path("lost-search")))

    def test_every_method_and_several_at_once(self):
        spec = self.spec(SEARCH)
        for method in "grid", "random", "bayes", "halving":
            said = self.search(spec, "--trials", "9", "--method", method, "--folder", method, "-m", "2", code=None)
            if method == "bayes" and "this build has none" in said.err:
                continue
            self.assertEqual(said.code, 0, said)
            rows = self.rows(method)
            self.assertEqual(len(rows), 9)
            if method == "grid":  # three rates and three numbers of units, from end to end
                self.assertEqual(sorted({row["values"]["units"] for row in rows}), [2, 7, 12])
                self.assertEqual({round(row["values"][RATE], 6) for row in rows}, {0.001, 0.031623, 1})
            for row in rows:
                if row["status"] == "pruned":
                    self.assertEqual((row["epochs"], row["objective"]), tuple(row["curve"][-1]))
        self.assertTrue(any(row["status"] == "pruned" and row["epochs"] < 3 for row in self.rows("halving")))

    def test_a_killed_search_goes_on_without_a_lost_trial(self):
        spec = self.spec(LONG)
        command = ["search", spec, "-b", "cpu", "-r", "5", "--trials", "4"]
        running = self.start(*command)
        deadline = time.time() + 60
        while time.time() < deadline:
            if os.path.exists(self.path("s-search/trials.jsonl")):
                before = self.rows("s-search")
                if [row["status"] for row in before] == ["done", "running"]:
                    break
            time.sleep(0.01)
        else:
            self.fail("the second trial did not begin")
        children = self.read(f"/proc/{running.pid}/task/{running.pid}/children").decode().split()
        running.send_signal(signal.SIGKILL)
        running.communicate()
        deadline = time.time() + 10
        while time.time() < deadline and any(os.path.exists(f"/proc/{child}/exe") for child in children):
            time.sleep(0.01)
        self.assertFalse([child for child in children if os.path.exists(f"/proc/{child}/exe")], "a trial outlives it")
        said = self.neon(*command)
        self.assertIn("s-search: going on after 1 trial; 1 cut off, now from their start", said.err)
        after = self.rows("s-search")
        self.assertEqual(after[0], before[0])
        self.assertEqual(after[1]["values"], before[1]["values"])
        self.assertEqual([row["status"] for row in after], ["done"] * 4)
        # An undisturbed search has the same trials.
        self.neon(*command, "--folder", "whole")
        for row, whole in zip(after, self.rows("whole")):
            self.assertEqual((row["values"], row["objective"]), (whole["values"], whole["objective"]))
        # More trials may follow, with the same settings only.
        self.assertIn("going on after 4 trials", self.neon(*command[:-1], "5").err)
        self.refused(2, *command, "-e", "1", says="s-search has trials with another options")
        self.refused(2, *command, "--method", "grid", says='has trials with another method, "random"')

    def test_ctrl_c_stops_and_keeps(self):
        spec = self.spec(LONG)
        running = self.start("search", spec, "-b", "cpu", "-r", "5", "--trials", "4")
        while not os.path.exists(self.path("s-search/trials.jsonl")):
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
        self.assertEqual(running.returncode, 130, err)
        self.assertIn("the same command goes on", out if isinstance(out, str) else out.decode())

    def test_failed_and_diverged_trials_are_rows_with_their_cause(self):
        spec = self.spec(SEARCH.replace("activation: Tanh", "activation: {search: {choice: [Tanh, Tahn]}}")
                         .replace("{log: [1e-3, 1]}", "{choice: [0.1, 1e30]}").replace("int: [2, 12]", "int: [4, 4]"))
        said = self.search(spec, "--trials", "4", "--method", "grid")
        by_values = {(row["values"]["layers[0].activation"], row["values"][RATE]): row for row in self.rows("s-search")}
        self.assertEqual(by_values["Tanh", 0.1]["status"], "done")
        self.assertEqual(by_values["Tanh", "1e30"]["status"], "diverged")
        self.assertIn("diverged", by_values["Tanh", "1e30"]["cause"])
        for rate in 0.1, "1e30":
            self.assertEqual(by_values["Tahn", rate]["status"], "failed")
            self.assertIn("did you mean Tanh?", by_values["Tahn", rate]["cause"])
        self.assertIn("4 trials: 1 done, 2 failed, 1 diverged", said.out)

    def test_a_spec_that_fails_with_all_values_ends_the_search(self):
        wrong = SEARCH.replace("batch_size:", "metrics: [AUC]\nbatch_size:")
        said = self.refused(2, "search", self.spec(wrong), "-b", "cpu", "-r", "3", "--trials", "9",
                            says="3 trials of other values failed alike, so the search ends: ")
        self.assertIn("AUC: there are 3 outputs", said.err.splitlines()[-1])
        self.assertEqual([row["status"] for row in self.rows("s-search")], ["failed"] * 3)
        # Given again, the search tries one more, since data may have changed, and counts the former ones.
        self.refused(2, "search", "s.yaml", "-b", "cpu", "-r", "3", "--trials", "9",
                     says="4 trials of other values failed alike, so the search ends: ")
        self.assertEqual([row["status"] for row in self.rows("s-search")], ["failed"] * 4)
        # One wrong option of a choice fails alike, too, and tells nothing of the others.
        wrong = SEARCH.replace("{search: {int: [2, 12], name: units}}", "4").replace("{nout: 3,", "{nout: {search: {choice: [2, 3]}},")
        self.search(self.write("t.yaml", wrong), "--trials", "10", "--method", "grid")
        self.assertEqual([row["status"] for row in self.rows("t-search")], ["failed"] * 5 + ["done"] * 5)

    def test_trials_that_run_are_waited_for_where_the_others_failed_alike(self):
        """Three of the four combinations fail at once; the fourth, which runs beside them, is right."""
        names = "[{search: {choice: [Affine_0, Affine_9], name: a}}, {search: {choice: [Affine_0, Affine_9], name: b}}]"
        spec = self.spec(LONG.replace("{search: {int: [4, 40], name: units}}", "4") + f"freeze: {names}\n")
        said = self.search(spec, "--trials", "4", "--method", "grid", "-m", "4")
        status = {(row["values"]["a"], row["values"]["b"]): row["status"] for row in self.rows("s-search")}
        self.assertEqual(status.pop(("Affine_0", "Affine_0")), "done")
        self.assertEqual(list(status.values()), ["failed"] * 3)
        self.assertIn("4 trials: 1 done, 3 failed", said.out)
        self.assertNotIn("no further trial", said.err)
        # Beside those that run others are left.
        spec = self.spec(LONG.replace("{search: {int: [4, 40], name: units}}", "{search: {choice: [4, 5], name: units}}") + f"freeze: {names}\n", "more.yaml")
        said = self.search(spec, "--trials", "8", "--method", "grid", "-m", "4")
        self.assertRegex(said.err, "(?m)^note: no further trial begins, [12] still runs?: [3-6] trials of other values failed alike")
        self.assertIn("8 trials: 2 done, 6 failed", said.out)

    def test_fractions_in_the_place_of_whole_numbers_are_refused(self):
        """The middle, 12, would be right, and so passes alone; also in an option that is not the first."""
        spec = self.spec(SEARCH.replace("{int: [2, 12]", "{log: [2, 12]"), batch_size="{search: {choice: [12, {search: {linear: [8, 16], name: size}}]}}")
        of_units = "s.yaml:3:20: range units: log gives numbers with fractions, and the key takes whole ones; write int: [2, 12], or INT with !hyperopt"
        of_size = "range size: linear gives numbers with fractions, and the key takes whole ones; write int: [8, 16]"
        self.assertNotIn("range size: linear", self.refused(2, "check", spec, says=of_units).err)
        self.refused(2, "check", spec, "--value", "units=3", "--value", "batch_size=search", says=of_size)
        self.refused(2, "search", spec, says=[of_units, of_size])
        self.assertFalse(os.path.exists(self.path("s-search")))
        self.spec(SEARCH.replace("momentum_coef: 0.5", "momentum_coef: {search: {linear: [0, 0.5]}}"))
        self.neon("check", "s.yaml")

    def test_objective_prints_one_line_of_json(self):
        spec = self.spec(SEARCH)
        values = ["--value", "units=5", "--value", RATE + "=0.1"]
        lines = self.search(spec, "--objective", "--curve", *values).out.splitlines()
        curve, last = [json.loads(line) for line in lines[:-1]], json.loads(lines[-1])
        self.assertEqual([(point["epoch"], point["of"]) for point in curve], [(1, 3), (2, 3), (3, 3)])
        self.assertEqual(last["objective"], curve[-1]["objective"])
        self.assertEqual((last["status"], last["metric"], last["better"], last["epochs"], last["seed"]),
                         ("done", "Top1Misclass", "lower", 3, 3))
        self.assertEqual(last["values"], {"units": 5, RATE: 0.1})
        one = self.search(spec, "--objective", *values, "--metric", "cost").out
        self.assertEqual(json.loads(one)["metric"], "cost")
        self.assertEqual(last["cost"], json.loads(one)["objective"])  # it decides between equal objectives
        self.assertNotIn("cost", json.loads(one))
        trained = self.neon(spec, "-b", "cpu", "-r", "3", *values).out
        self.assertIn(f"test cost {json.loads(one)['objective']:.4f}", trained)
        high = self.spec(SEARCH.replace("[1e-3, 1]", "[1, 1e30]"), "high.yaml")
        diverged = self.search(high, "--objective", "--value", "units=5", "--value", RATE + "=1e30", code=5)
        self.assertEqual(json.loads(diverged.out)["status"], "diverged")
        self.refused(2, "search", spec, "--objective", "--value", "units=5", says=f"has no value for {RATE}; give it")
        self.refused(2, "search", spec, "--objective", "--value", "unit=5", says="did you mean units?")
        self.refused(2, "search", spec, "--objective", *values, "--metric", "Top1", "-b", "cpu",
                     says="'Top1' is not evaluated; did you mean Top1Misclass?")

    def test_without_metrics_the_cost_of_the_evaluated_set_is_the_objective(self):
        self.write("t.csv", "a,b,y\n" + "".join(f"{i % 7},{i % 5},{(i % 3 + i % 7) * 0.37:.2f}\n" for i in range(60)))
        spec = self.write("s.yaml", "dataset: {CSV: {path: t.csv, target: y, validation: 0.5}}\nlayers: [Affine: {nout: 1, init: Kaiming}]\n"
                          "cost: MeanSquared\noptimizer: {GradientDescentMomentum: {learning_rate: {search: {log: [1e-3, 1e-1]}}}}\n"
                          "batch_size: 10\nepochs: 2\ntrain_metrics: 10\n")
        last = json.loads(self.search(spec, "--objective", "--value", RATE + "=0.01").out)
        self.assertEqual((last["set"], last["metric"]), ("validation", "cost"))
        trained = self.neon(spec, "-b", "cpu", "-r", "3", "--value", RATE + "=0.01").out
        self.assertIn(f"validation cost {last['objective']:.4f}", trained)

    def test_set_takes_a_range_out_of_the_search(self):
        spec = self.spec(SEARCH)
        said = self.search(spec, "--trials", "2", "--set", RATE + "=0.1")
        self.assertIn(f"range {RATE} changes nothing and is not searched", said.err)
        self.assertEqual([list(row["values"]) for row in self.rows("s-search")], [["units"], ["units"]])

    def test_the_best_spec_finds_its_data(self):
        self.write("specs/data/flowers.csv", "a,b,y\n" + "".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(40)))
        spec = self.write("specs/table.yaml", SEARCH.replace("Iris", "{CSV: {path: data/flowers.csv, target: y}}")
                          .replace("nout: 3", "nout: 2").replace("batch_size: 16", "batch_size: 8"))
        self.search(spec, "--trials", "2")
        best = self.neon(self.path("table-search/best.yaml"), "-b", "cpu", "-r", "3", cwd=self.cache)
        self.assertIn("trained 3 epochs", best.out)

    def test_the_best_spec_keeps_names_that_are_no_paths(self):
        """A folder with the data set's name, a file with a column's; data in the run's folder come before the spec's."""
        os.mkdir(self.path("Iris"))
        self.search(self.spec(SEARCH), "--trials", "2")
        self.assertIn("dataset: Iris\n", self.read("s-search/best.yaml").decode())
        table = "a,b,y\n" + "".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(40))
        for name in "data.csv", "specs/data.csv", "y", "auto":
            self.write(name, table)
        spec = self.write("specs/table.yaml", SEARCH.replace("Iris", "{CSV: {path: data.csv, target: y, test: auto}}").replace("nout: 3", "nout: 2"))
        self.search(spec, "--trials", "2")
        best = self.read("table-search/best.yaml").decode()
        self.assertIn(f"path: {os.path.realpath(self.path('data.csv'))}\n", best)
        self.assertIn("target: y\n", best)
        self.assertIn("test: auto\n", best)

    def test_a_grid_goes_on_with_its_own_points(self):
        spec = self.spec(SEARCH.replace("{search: {log: [1e-3, 1]}}", "0.1"))
        self.search(spec, "--trials", "3", "--method", "grid")
        self.refused(2, "search", spec, "-b", "cpu", "-r", "3", "--trials", "5", "--method", "grid",
                     says="trial 2 is no such point of the grid of 5 points that --trials gives now; give --trials as before, or another --folder")
        self.search(spec, "--trials", "3", "--method", "grid")
        self.assertEqual([row["values"]["units"] for row in self.rows("s-search")], [2, 7, 12])
        # A grid of options alone is the same for any number of trials.
        choices = self.write("c.yaml", SEARCH.replace("{search: {log: [1e-3, 1]}}", "0.1").replace("int: [2, 12]", "choice: [2, 3]"))
        self.search(choices, "--trials", "2", "--method", "grid")
        self.assertIn("2 trials: 2 done", self.search(choices, "--trials", "9", "--method", "grid").out)

    def test_a_spec_that_changes_during_a_search_ends_it(self):
        spec = self.spec(LONG)
        running = self.start("search", spec, "-b", "cpu", "-r", "5", "--trials", "3")
        while not os.path.exists(self.path("s-search/trials.jsonl")):
            time.sleep(0.01)
        self.spec(LONG.replace("Tanh", "Rectlin"))
        _, err = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 2, err)
        self.assertIn("s.yaml has changed since neon search began, and each run reads it; restore it", err if isinstance(err, str) else err.decode())
        self.assertEqual([row["status"] for row in self.rows("s-search")], ["done"])
        # Restored, it goes on, and writes the best of all trials.
        self.assertFalse(os.path.exists(self.path("s-search/best.yaml")))
        self.spec(LONG)
        self.neon("search", spec, "-b", "cpu", "-r", "5", "--trials", "1")
        self.assertIn("activation: Tanh", self.read("s-search/best.yaml").decode())

    def test_ranges_of_older_files(self):
        old = os.path.abspath(os.path.join(os.path.dirname(__file__), "../old/mlp-iris-hyperopt-small.yaml"))
        self.write("old.yaml", self.read(old))
        self.neon("search", "old.yaml", "-b", "cpu", "-r", "1", "--trials", "2")
        for row in self.rows("old-search"):
            self.assertTrue(100 <= row["values"]["epochs"] <= 1000 and 0.01 <= row["values"]["lr"] <= 0.1)
            self.assertEqual(row["epochs"], row["values"]["epochs"])
        converted = self.neon("convert", "old.yaml").out
        self.assertRegex(converted, r"search:\n\s+int: \[100, 1000\]\n\s+name: epochs")
        self.assertIn("range lr: a run does not search; it takes 0.055", self.neon("check", "old.yaml").err)

    def test_what_cannot_be_searched(self):
        self.refused(2, "search", self.spec(), says="has no range to search")
        wrong = self.spec(SEARCH.replace("[1e-3, 1]", "[0, 1]"), "w.yaml")
        self.refused(2, "search", wrong, says="w.yaml:7:59: optimizer.learning_rate: a log range begins above 0, found 0")
        spec = self.spec(SEARCH, "t.yaml")
        self.refused(2, "search", spec, "--curve", says="--curve does nothing without --objective")
        self.refused(2, "search", spec, "--method", "tpe", says="method")
        self.refused(2, "eval", "m.safetensors", "--value", "units=5", says="does nothing with neon eval")
        self.refused(2, "search", spec, "--method", "grid", "--trials", "0", says="trials")


support.main()
