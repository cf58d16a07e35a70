#!/usr/bin/python3
"""Verbs and options are declared once; help, the man page and the completions of shells have all of them."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import support
from support import Case

VERBS = ["train", "resume", "check", "compare", "convert", "search", "formats", "summary", "program", "bench", "eval", "plot", "predict", "data list", "data fetch", "data check",
         "data stats", "data pack", "data preview", "doctor", "export", "grad-check", "help", "lr-find", "new photos", "new table",
         "new text", "overfit", "sample", "schedule"]
COMMAND_LINE = pathlib.Path(__file__).resolve().parents[2] / "docs/command-line.md"
SHELLS = "bash", "zsh", "fish"


class Verbs(Case):
    def options(self):
        """Long names of all options, from --help."""
        all_names = re.findall(r"(?m)^  (?:-\w, )?--(\w+)", self.neon("--help").out)
        out = sorted(set(all_names))
        self.assertEqual(len(out), len(all_names), "an option is listed twice")
        self.assertGreater(len(out), 30)
        return out

    def test_help_has_every_verb(self):
        page = self.neon("--help").out
        for verb in VERBS:
            self.assertRegex(page, r"(?m)^  neon " + ("\\[OPTIONS\\] SPEC" if verb == "train" else verb) + r"\b")
        listed = re.findall(r"(?m)^  neon ([a-z-]+(?: [a-z]+)?)(?=  | [A-Z[]|$)", page)
        self.assertEqual([verb for verb in listed if verb not in VERBS], [], "these verbs are missing in VERBS of verbs_test.py")
        self.assertLessEqual(max(map(len, page.splitlines())), 100)
        self.assertNotIn("TEXT", page)
        self.assertRegex(page, r"(?m)^  -e, --epochs N +Passes over the training set\.")
        self.assertRegex(page, r"(?m)^  -b, --backend cpu\|gpu ")
        self.assertRegex(page, r"(?m)^  --iterations N +With bench, lr-find and overfit: ")

    def test_the_page_of_the_command_line_has_every_verb(self):
        """Rows of its first table: `neon data list`, `fetch NAME`."""
        rows = re.findall(r"(?m)^\| (`(?:neon|new) .*?`) \|", COMMAND_LINE.read_text())
        named = [words for row in rows for words in re.findall(r"`(?:neon )?(.*?)`", row)]
        for verb in VERBS:
            if verb != "train":
                self.assertTrue(any(f"{words} ".startswith((f"{verb} ", f"{verb.split()[-1]} ")) for words in named),
                                f"docs/command-line.md has no row for neon {verb}")

    def test_no_option_takes_an_empty_value(self):
        """As of a variable that a script has not set. The beginning of a text may be empty."""
        verb_of = {option: verb for verb in VERBS
                   for option in re.findall(r"(?m)^  (?:-\w, )?(--\w+) \S", self.neon(*verb.split(), "--help").out)}
        self.assertGreater(len(verb_of), 50)
        for option, verb in verb_of.items():
            if option != "--prompt":
                said = self.neon(*verb.split(), option + "=", "s.yaml", code=2).err
                self.assertRegex(said, option + "[:= ]")
                self.neon(*verb.split(), option, "", "s.yaml", code=2)
        self.refused(2, "check", "--caffe=", "s.yaml", says="option --caffe: its value is empty")
        self.refused(2, "sample", "m", "--prompt=", "--length", "x", says="option --length: expected an integer, found 'x'")
        self.assertEqual(os.listdir(self.folder), [])

    def test_help_of_a_verb(self):
        for verb in VERBS:
            words = verb.split()
            page = self.neon("help", *words).out
            own = self.neon(*words, "--help").out
            self.assertLessEqual(max(map(len, own.splitlines())), 100, own)
            self.assertTrue(page == own or page.startswith(own + "\n" + verb + ": a kind of things"), page)
            self.assertEqual(self.neon(*words, "-h").out, own)
            self.assertTrue(page.startswith("neon [OPTIONS] SPEC\n" if verb == "train" else f"neon {verb}"), page)
        self.assertIn("--top_k N", self.neon("predict", "--help").out)
        self.assertNotIn("data preview", self.neon("predict", "--help").out)
        self.assertIn("Options of this verb:\n", self.neon("predict", "--help").out)
        self.assertNotIn("--top_k", self.neon("eval", "--help").out)
        self.assertNotIn("--epochs", self.neon("eval", "--help").out)
        self.assertIn("--epochs", self.neon("resume", "--help").out)
        self.assertNotIn("--max_devices", self.neon("predict", "--help").out)
        self.assertNotIn("--backend", self.neon("data", "check", "--help").out)
        self.assertIn("neon data list", self.neon("data", "--help").out)
        self.assertIn("neon data pack PATH FOLDER", self.neon("help", "data").out)

    def test_an_option_is_taken_where_help_shows_it(self):
        """What a verb's help lists is not refused as another verb's, and what it does not list is."""
        values = {"N": "1", "FILE": "f", "FOLDER": ".", "BITS": "3", "KEY=VALUE": "a=1", "NAME=VALUE": "a=1"}
        flags = re.findall(r"(?m)^  (?:-\w, )?(--\w+)(?: (\S+))?  ", self.neon("--help").out)
        for verb in "check", "eval", "predict", "doctor", "data pack":
            listed = self.neon(*verb.split(), "--help").out
            for name, value in flags:
                if name in ("--help", "--version", "--config", "--as"):
                    continue
                given = [name] + ([values.get(value, value.split("|")[0])] if value else [])
                said = self.neon(*verb.split(), *given, code=None).err
                self.assertEqual(f"does nothing with neon {verb}" in said, name + " " not in listed and name + "\n" not in listed,
                                 f"{verb} {given}: {said}")

    def test_kinds_and_things_of_one_name_are_all_explained(self):
        page = self.neon("help", "activation").out
        self.assertIn("Activation (layer): ", page)
        self.assertRegex(page, r"(?m)^  Tanh +Hyperbolic tangent\.$")
        self.assertIn("data preview", self.neon("help", "data").out)

    def test_unknown_verbs(self):
        spec = self.spec()
        for word, verb in ("sumary", "summary"), ("evaluate", "neon eval"), ("test", "neon eval"), ("infer", "neon predict"), \
                ("download", "neon data fetch"):
            self.refused(2, word, spec, says=f"'{word}' is no verb; did you mean {verb}?")
        self.refused(2, "evaluate", says="'evaluate' is no verb; did you mean neon eval?")
        self.refused(2, "blorb", spec, says="'blorb' is no verb; neon --help lists the verbs")
        self.refused(2, "blorb", says="blorb: there is no such file or verb; neon --help lists the verbs")
        self.refused(2, "data", "pak", says="did you mean pack?")
        self.write("test", self.read(spec))
        self.neon("-e", "1", "test")  # a file of that name is a spec

    def test_completions_and_man_page_have_everything(self):
        names = self.options()
        for form in SHELLS:
            script = self.neon("help", "--as", form).out
            for word in sorted({verb.split()[0] for verb in VERBS}) + ["preview"]:
                self.assertRegex(script, rf"\b{word}\b", form)
            for name in names:
                self.assertIn(f"-l {name}" if form == "fish" else f"--{name}", script, form)
            if shutil.which(form):
                path = self.write(f"neon.{form}", script)
                subprocess.run([form, "-n", path], check=True, cwd=self.folder)
        page = self.neon("help", "--as", "man").out
        for name in names:
            self.assertIn("\\-\\-" + name, page)
        for verb in VERBS:
            self.assertIn(".B neon " + verb.replace("-", "\\-") if verb != "train" else ".B neon [OPTIONS] SPEC", page)
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-ww", "-z"], input=page, capture_output=True, text=True, check=True)
            self.assertEqual(done.stderr, "")

    def completed(self, *words):
        """What bash offers at the end of the words."""
        self.write("neon.bash", self.neon("help", "--as", "bash").out)
        script = ("source neon.bash; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _neon; printf '%s\\n' \"${COMPREPLY[@]}\"")
        done = subprocess.run(["bash", "-c", script, "bash", "neon", *words], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash_completes(self):
        self.write("mine.yaml", "")
        os.mkdir(self.path("model"))
        self.assertEqual(self.completed("su"), ["summary"])
        self.assertEqual(self.completed("data", "pr"), ["preview"])
        self.assertEqual(self.completed("check", "mi"), ["mine.yaml"])
        self.assertEqual(self.completed("predict", "--to"), ["--top_k"])
        self.assertEqual(self.completed("eval", "--to"), [])
        self.assertEqual(self.completed("-d", "b"), ["bf16"])
        self.assertEqual(self.completed("check", "-w", "m"), ["model"])
        self.assertEqual(sorted(self.completed("--epo")), ["--epochs"])

    def test_bash_completes_the_keys_of_a_spec(self):
        spec = self.spec()
        self.environment["PATH"] = os.path.dirname(os.path.realpath(support.NEON)) + ":" + os.environ["PATH"]
        self.assertEqual(self.completed("check", spec, "--set", "optimizer.learn"), ["optimizer.learning_rate="])
        self.assertIn("layers[0].nout=", self.completed(spec, "--set", "layers[0].n"))
        self.assertEqual(self.completed("--set", "optimizer.learn"), [])
        self.write("s.yml", self.read(spec))
        self.assertEqual(self.completed("check", "s.yml", "--set", "optimizer.learn"), ["optimizer.learning_rate="])
        self.environment["HOME"] = self.folder  # no shell puts it in place of ~ before TAB
        self.assertEqual(self.completed("check", "~/s.yml", "--set", "optimizer.learn"), ["optimizer.learning_rate="])
        self.assertEqual(self.completed("check", "~$(touch lost)/s.yml", "--set", "optimizer.learn"), [])
        self.assertFalse(os.path.exists(self.path("lost")))

    def offered(self, shell, *words):
        """What zsh's function, with a stand-in for compadd, or fish offers behind --set at the end of the words."""
        path = self.write("neon." + shell, self.neon("help", "--as", shell).out)
        if shell == "fish":
            script, arguments = f"source {path}; complete -C \"$argv\"", ["neon", *words]
        else:
            script = f"_arguments() {{ }}; source {path}; compadd() {{ print -rl -- $@ }}; words=(\"$@\"); _neon_keys"
            arguments = ["zsh", "neon", *words]
        done = subprocess.run([shell, "-c", script, *arguments], cwd=self.folder, env={**self.environment, "HOME": self.folder},
                              capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        return [line.split("\t")[0] for line in done.stdout.splitlines()]

    def test_zsh_and_fish_complete_the_keys_of_a_spec(self):
        self.assertIn("--set", re.search(r"(?m)^.*:_neon_keys.*$", self.neon("help", "--as", "zsh").out)[0])
        self.assertIn("-l set", re.search(r"(?m)^.*\(__neon_keys\).*$", self.neon("help", "--as", "fish").out)[0])
        self.environment["PATH"] = os.path.dirname(os.path.realpath(support.NEON)) + ":" + os.environ["PATH"]
        for shell in filter(shutil.which, ("zsh", "fish")):
            for name in "s.yaml", "s.yml", "~/s.yaml":
                self.spec(name=os.path.basename(name))
                offered = self.offered(shell, "check", name, "--set", "")
                for key in "layers[0].nout=", "optimizer.learning_rate=":
                    self.assertIn(key, offered, shell)
            self.assertNotIn("optimizer.learning_rate=", self.offered(shell, "check", "--set", ""))
            key = "$(touch${IFS}lost)"
            spec = self.spec(class_weights=f"{{'{key}': 2}}")
            self.assertEqual([line for line in self.offered(shell, "check", spec, "--set", "") if "class_w" in line], [])
            self.assertFalse(os.path.exists(self.path("lost")), shell)

    def test_completing_keys_runs_no_command_of_a_spec(self):
        """bash's own lists of words would run the command in such a key."""
        self.environment["PATH"] = os.path.dirname(os.path.realpath(support.NEON)) + ":" + os.environ["PATH"]
        for key in "$(touch${IFS}lost)", "`touch${IFS}lost`", "a;touch lost":
            spec = self.spec(class_weights=f"{{'{key}': 2}}")
            self.assertIn(key, self.neon("check", spec, "--explain", "keys").out)
            self.assertEqual(self.completed("check", spec, "--set", "class_w"), [])
            self.assertFalse(os.path.exists(self.path("lost")))


if __name__ == "__main__":
    support.main()
