#!/usr/bin/python3
"""Nets of texts from the command line: training in streams, stopping and resuming, going on with a text, bad input."""
import json
import lzma
import os
import re
import struct
import tarfile
import zipfile

import h5py
import numpy as np

import support
from support import Case, parts, sealed, tensors

SPEC = """\
dataset: {Text: {path: a.txt, steps: 6, validation: 0.2}}
layers:
  - LSTM: {output_size: 16, init: GlorotUniform}
  - Affine: {nout: classes, init: GlorotUniform, activation: Softmax}
cost: CrossEntropyMulti
metrics: [Perplexity, Misclassification]
optimizer: {Adam: {learning_rate: 0.02}}
batch_size: 4
epochs: 6
"""
# Which letter follows is known by the one before it and the one before that.
TEXT = "abcacb" * 40 + "abc"


WORDS = "this that film story actor scene music plot line end".split()
# Filters over five words, the largest of each over the text.
REVIEWS = """\
dataset: {TextClasses: {path: texts, steps: 20, unit: words}}
layers:
  - Embedding: {embedding_dim: 8, init: {Gaussian: {scale: 0.1}}}
  - Conv: {fshape: 5, nofm: 16, padding: 2, init: Kaiming, bias: {Constant: 0}, activation: Rectlin}
  - Pooling: {fshape: all}
  - Affine: {nout: classes, init: GlorotUniform, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.02}}
batch_size: 8
epochs: 6
"""


class Texts(Case):
    def setUp(self):
        super().setUp()
        self.write("a.txt", TEXT)
        self.text = self.spec(SPEC, "text.yaml")

    def test_a_net_learns_a_text_and_goes_on_with_it(self):
        result = self.neon(self.text, "-r", "1", "-e", "40", "-s", "m.safetensors")
        # The letter after the first one of each of the four streams is not known: 4 of 48.
        wrong, = re.findall(r"(?m)^validation: Perplexity 1\.\d+  Top1Misclass ([\d.]+) %  validation cost ", result.out)
        self.assertLess(float(wrong), 8.34)
        out = self.neon("sample", "m.safetensors", "--prompt", "abcac", "--length", "30", "--temperature", "0").out
        self.assertEqual(out, ("abcacb" * 6)[:35] + "\n")
        # The likeliest text of a net that is sure of it, by any way to it.
        for options in (["--top_k", "1"], ["--top_p", "0.01"], ["--beam", "4"], ["-r", "5", "--temperature", "0.01"]):
            self.assertEqual(self.neon("sample", "m.safetensors", "--prompt", "abcac", "--length", "30", *options).out, out)
        self.assertEqual(len(self.neon("sample", "m.safetensors", "--length", "7").out), 8)

    def test_bits_per_character_are_told_of_other_tokens(self):
        self.write("w.txt", "one two three four five six " * 40)
        for unit, told in ("characters", False), ("bytes", False), ("words", True), ("bpe", True):
            options = ["--set", "dataset.Text.path=w.txt", "--set", f"dataset.Text.unit={unit}", "--set", "metrics=[BitsPerCharacter]", *(["--set", "dataset.Text.vocabulary_size=260"] if unit == "bpe" else [])]
            said = self.neon("check", self.text, *options)
            self.assertEqual("so that it has the bits of a token, not of a character" in said.out + said.err, told, said)

    def test_outputs_that_are_no_probabilities_are_refused(self):
        self.neon(self.text, "-r", "1", "-e", "1", "-s", "m.safetensors", "--set", "layers[1].activation=Logistic", "--set", "cost=CrossEntropyBinary")
        for options in [], ["--beam", "3"]:
            self.refused(2, "sample", "m.safetensors", "--prompt", "abc", *options, says="so they are no probabilities; end the net with Softmax")

    def test_the_files_of_an_archive_are_those_of_a_folder(self):
        for name, content in ("b/2.txt", TEXT[:90]), ("a.txt", TEXT), ("c.txt", "cabcab"):
            self.write("book/" + name, content)
        for name, mode in ("book.tar", "w"), ("book.tar.gz", "w:gz"), ("packed", "w:gz"):
            with tarfile.open(self.path(name), mode) as archive:
                for member in "c.txt", "b", "a.txt":
                    archive.add(self.path("book/" + member), member)
        with zipfile.ZipFile(self.path("book.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
            for member in "c.txt", "b/2.txt", "a.txt":
                archive.write(self.path("book/" + member), member)
            archive.writestr(".hidden", "zzz")
        trained = {}
        for path in "book", "book.tar", "book.tar.gz", "packed", "book.zip":
            self.neon(self.text, "-r", "1", "-e", "2", "-s", "m.safetensors", "--set", f"dataset.Text.path={path}")
            trained[path], _ = tensors(self.path("m.safetensors"))
            self.assertEqual(trained[path], trained["book"], path)
        with tarfile.open(self.path("empty.tar"), "w"):
            pass
        self.write("book.xz", lzma.compress(TEXT.encode()))
        for path, says in ("empty.tar", "empty.tar: no files are in this archive"), ("book.xz", "book.xz: is packed by xz, which neon"):
            self.refused(3, self.text, "--set", f"dataset.Text.path={path}", says=says)

    def test_a_seed_repeats_what_is_drawn(self):
        self.neon(self.text, "-r", "1", "-e", "1", "-s", "m.safetensors")
        drawn = [self.neon("sample", "m.safetensors", "--length", "60", "-r", seed).out for seed in "1213"]
        self.assertEqual(drawn[0], drawn[2])
        self.assertEqual(len(set(drawn)), 3)

    def test_a_run_that_was_stopped_goes_on_to_the_same_bits(self):
        """Between the pieces of a stream, too: the carried state is in the checkpoint."""
        whole = self.neon(self.text, "-r", "3", "-e", "4", "-s", "whole.safetensors")
        self.neon(self.text, "-r", "3", "-e", "2", "-s", "part.safetensors")
        self.neon("resume", "-e", "4", "part.safetensors")
        (one, _), (other, _) = tensors(self.path("whole.safetensors")), tensors(self.path("part.safetensors"))
        self.assertEqual(set(one), set(other))
        self.assertIn("LSTM_0/c/carried", one)
        for name in one:
            self.assertEqual(one[name], other[name], name)
        self.assertFalse([name for name in one if name.startswith("/")], "states of evaluations")
        last = [line for line in whole.out.splitlines() if line.startswith("validation: ")][-1]
        self.assertIn(last.split("  (")[0], self.neon("eval", "whole.safetensors").out)

    def test_texts_of_any_length_are_classified_by_their_words(self):
        self.reviews()
        out = self.neon(self.spec(REVIEWS), "-r", "1", "-s", "m.safetensors").out
        self.assertRegex(out, r"(?m)^test: Top1Misclass 0.00 %  test cost ")

    def test_an_embedding_begins_with_the_vectors_of_a_file(self):
        self.reviews()
        self.write("vectors.txt", "3 4\nfine 1 0 0 0.5\npoor -1 0 0 0.25\nhouse 0 0 0 0\n")
        spec = self.spec(REVIEWS.replace("embedding_dim: 8", "embedding_dim: 4, vectors: vectors.txt, update: false"))
        out = self.neon(spec, "-r", "1", "-s", "m.safetensors").err
        self.assertIn(f"Embedding_0: vectors of 2 of {len(WORDS) + 3} words from ", out)
        self.assertIn("vectors.txt; the others are drawn", out)
        table = np.frombuffer(tensors(self.path("m.safetensors"))[0]["Embedding_0/W"][2], np.float32).reshape(-1, 4)
        for row in [1, 0, 0, 0.5], [-1, 0, 0, 0.25]:
            self.assertEqual((table == np.array(row, np.float32)).all(1).sum(), 1, "frozen")
        self.assertTrue((table != 0).any(1).all(), "the others are drawn")
        # A run that goes on needs no vectors.
        os.remove(self.path("vectors.txt"))
        self.neon("resume", "-e", "7", "m.safetensors")
        for verb in [], ["check"]:
            self.refused(3, *verb, spec, says="vectors.txt: no such file")

    def reviews(self):
        """Texts of 6 to 12 words, one of which tells their class."""
        for part, count in ("train", 40), ("test", 10):
            for name, word in ("good", "fine"), ("bad", "poor"):
                for i in range(count):
                    words = [WORDS[(i * 7 + k * (3 + i % 5)) % len(WORDS)] for k in range(5 + i % 7)]
                    words.insert(i % len(words), word)
                    self.write(f"texts/{part}/{name}/{i}.txt", " ".join(words))

    def test_shared_weights_are_saved_once_and_resumed(self):
        shared = SPEC.replace("  - LSTM: {output_size: 16,", "  - Embedding: {name: table, embedding_dim: 8, init: Gaussian}\n"
                              "  - LSTM: {output_size: 8,").replace("nout: classes, init: GlorotUniform", "nout: classes, share: table")
        spec = self.spec(shared.replace("{Adam: {learning_rate: 0.02}}",
                                        "{MultiOptimizer: {default: {Adam: {learning_rate: 0.02}}, table: Adagrad}}"))
        self.neon(spec, "-r", "3", "-e", "4", "-s", "whole.safetensors")
        self.neon(spec, "-r", "3", "-e", "2", "-s", "part.safetensors")
        self.neon("resume", "-e", "4", "part.safetensors")
        (one, _), (other, _) = tensors(self.path("whole.safetensors")), tensors(self.path("part.safetensors"))
        self.assertEqual(one, other)
        self.assertEqual([name for name in one if name.endswith("/W")], ["table/W"])
        self.assertIn("validation cost", self.neon("eval", "part.safetensors").out)
        # The resolved spec names no initializer of the layer that shares, and trains the same net.
        resolved = self.neon("check", "--resolved", spec).out
        self.write("again.yaml", resolved)
        self.neon("again.yaml", "-r", "3", "-e", "4", "-s", "again.safetensors")
        self.assertEqual(tensors(self.path("again.safetensors"))[0], one)
        # Checkpoints of before name it, beside weights that are there.
        self.refused(2, "check", "again.yaml", "--set", "layers[2].init=GlorotUniform", says="share: init: GlorotUniform fills nothing here")
        content = self.read("part.safetensors")
        _, header, places = parts(content)
        before, after = header["__metadata__"]["neon.spec"].split("nout: classes", 1)
        self.assertIn("init: null", after)
        header["__metadata__"]["neon.spec"] = before + "nout: classes" + after.replace("init: null", "init: GlorotUniform", 1)
        self.write("older.safetensors", sealed(header, content[places[0][0]:]))
        self.assertEqual(self.neon("eval", "older.safetensors").out, self.neon("eval", "part.safetensors").out)

    def test_pieces_that_are_drawn_begin_without_a_state(self):
        drawn = ["--set", "dataset.Text.streams=false", "--set", "dataset.Text.steps=5"]
        result = self.neon(self.text, "-r", "1", "-e", "40", "-s", "m.safetensors", *drawn)
        self.assertFalse([name for name in tensors(self.path("m.safetensors"))[0] if "carried" in name])
        # The letter after the first one of each piece is not known: one of 5.
        wrong, = re.findall(r"(?m)^validation: Perplexity [\d.]+  Top1Misclass ([\d.]+) %  validation cost ", result.out)
        self.assertLess(float(wrong), 20.01)
        # Every order of the pieces is as good, so that the seed changes the run.
        costs = {self.neon(self.text, "-r", "1", "-e", "2", *drawn, *options).out
                 .split("validation cost ")[1].split()[0] for options in ([], ["--set", "shuffle=false"])}
        self.assertEqual(len(costs), 2)
        self.assertEqual(self.neon("sample", "m.safetensors", "--prompt", "abcac", "--length", "13", "--temperature", "0").out,
                         "abcacbabcacbabcacb\n")

    def test_files_of_tokens_in_memory_or_read_in_the_run(self):
        self.write("a.bin", b"".join(struct.pack("<H", "abc".index(letter)) for letter in TEXT))
        tokens = self.spec(SPEC.replace("Text: {path: a.txt", "Tokens: {path: a.bin"), "tokens.yaml")
        few = ["--set", "dataset.Tokens.memory_share=1e-9"]
        runs = {}
        for streams in "true", "false":
            for name, more in ("text", ()), ("held", ()), ("read", few):
                kind, spec = ("Text", self.text) if name == "text" else ("Tokens", tokens)
                self.neon(spec, "-r", "3", "-e", "3", "-s", "m.safetensors", "--set", f"dataset.{kind}.streams={streams}", *more)
                runs[name], _ = tensors(self.path("m.safetensors"))
            self.assertEqual(runs["text"], runs["held"])
            self.assertEqual(runs["text"], runs["read"])
        self.assertIn("the set is streamed", self.neon("check", tokens, *few).out)
        self.assertIn("a.bin (uint16): ", self.neon("check", tokens).out)
        self.neon(tokens, "-e", "1", "-s", "s.safetensors", "--set", "dataset.Tokens.streams=true")
        self.refused(2, "sample", "s.safetensors", says="s.safetensors: its tokens have no texts to print; give the data set merges: FILE")
        np.save(self.path("few.npy"), np.arange(12) % 3)
        self.write("few.txt", "a text\n")
        for name, code in ("a.bin", 2), ("few.npy", 3), ("few.txt", 3):
            self.refused(code, "predict", "s.safetensors", name, says=["the net predicts the token behind each one: give whole "
                         "numbers (n,6) in .npy, and merges to the data set for neon sample, which goes on with texts"])
        self.refused(2, "check", tokens, "--set", "dataset.Tokens.steps=500", "-z", "2", says="-z 2 is larger than the training set of 1 sample; ")
        # A stopped run goes on; other tokens are refused, also where only their contents differ.
        self.neon(tokens, "-r", "3", "-e", "2", "-s", "part.safetensors", *few, "--set", "dataset.Tokens.streams=false")
        content = self.read("a.bin")
        self.write("a.bin", content[:2] + b"\2\0" + content[4:])
        self.refused(3, "resume", "-e", "3", "part.safetensors", says="the data are not those that the run began with")
        self.write("a.bin", content)
        self.neon("resume", "-e", "3", "part.safetensors")
        self.assertEqual(tensors(self.path("part.safetensors"))[0], runs["text"])
        self.write("b.bin", b"\0\0\1\0" * 40)
        self.neon("eval", "part.safetensors", "--set", "dataset.Tokens.path=b.bin")
        # The last 16 of the 80 tokens are validation tokens, and only these are read.
        self.write("b.bin", b"\3\0\1\0" * 40)
        self.refused(3, "eval", "part.safetensors", "--set", "dataset.Tokens.path=b.bin",
                     says="b.bin: token 64 is 3; they must be below 3, the number of different tokens")

    def test_byte_pairs_travel_with_the_net(self):
        merges = self.write("merges.txt", "#version: 0.2\na b\nab c\n")
        for bpe in ("vocabulary_size: 258", f"merges: {merges}"):
            spec = self.spec(SPEC.replace("steps: 6", f"unit: bpe, {bpe}, steps: 6"), "bpe.yaml")
            self.neon(spec, "-r", "1", "-e", "30", "-s", "m.safetensors")
            # Both vocabularies have "ab" and "abc", so that the text is abc, a, c, b.
            out = self.neon("sample", "m.safetensors", "--prompt", "abcacb", "--length", "8", "--temperature", "0").out
            self.assertEqual(out, "abcacb" * 3 + "\n")
            self.assertIn("validation cost", self.neon("eval", "m.safetensors").out)
        os.remove(self.path(merges))
        self.neon("eval", "m.safetensors")
        self.neon("resume", "-e", "31", "m.safetensors")
        self.refused(3, spec, says="merges.txt: no such file")
        # The net is small, and so is its file, although it has the texts of all tokens.
        self.assertLess(len(self.read("m.safetensors")), 400_000)

    def test_texts_end_where_documents_do(self):
        end = "<|endoftext|>"
        self.write("a.txt", ("abcd" + end) * 60)
        self.write("merges.txt", "#version: 0.2\n")
        for bpe in "vocabulary_size: 257", "merges: merges.txt":
            spec = self.spec(SPEC.replace("steps: 6", f"unit: bpe, {bpe}, steps: 6"), "bpe.yaml")
            self.neon(spec, "-r", "1", "-e", "40", "-s", "m.safetensors")
            for options in ["--temperature", "0"], ["--beam", "3"]:
                sample = lambda *prompt: self.neon("sample", "m.safetensors", "--length", "50", *options, *prompt).out
                self.assertEqual(sample("--prompt", f"cd{end}ab"), f"cd{end}abcd\n")
                self.assertEqual(sample(), "abcd\n", "begins behind an end")
        self.refused(2, spec, "--set", "dataset.Text.unit=characters", "--set", "dataset.Text.end_of_text=true",
                     says="end_of_text: true is for unit: bpe, not for unit: characters")

    def test_tokens_with_their_texts(self):
        self.write("merges.txt", "#version: 0.2\na b\nab c\n")
        # GPT-2's numbers: "a" is 64, "b" 65, "c" 66; the pairs are 256 and 257.
        self.write("a.bin", struct.pack("<200H", *[257, 64, 66, 65] * 50))
        spec = self.spec(SPEC.replace("Text: {path: a.txt, steps: 6", "Tokens: {path: a.bin, merges: merges.txt, steps: 8"), "t.yaml")
        self.assertIn("259 classes", self.neon("check", spec).out)
        self.neon(spec, "-r", "1", "-e", "30", "-s", "m.safetensors")
        out = self.neon("sample", "m.safetensors", "--prompt", "abcacb", "--length", "8", "--temperature", "0").out
        self.assertEqual(out, "abcacb" * 3 + "\n")
        self.refused(2, "check", spec, "--set", "dataset.Tokens.tokens=50257", says="tokens: 50257, but the vocabulary has 259")

    def test_pieces_of_another_length_are_evaluated_alike(self):
        self.neon(self.text, "-r", "1", "-e", "2", "-s", "m.safetensors")
        costs = {steps: self.neon("eval", "m.safetensors", "--set", f"dataset.Text.steps={steps}", "--set", "batch_size=1").out
                 for steps in (6, 3, 48)}
        numbers = {out.split("validation cost ")[1].split()[0] for out in costs.values()}
        self.assertEqual(len(numbers), 1, str(costs))

    def test_a_net_of_classes_of_texts_says_what_it_takes(self):
        os.makedirs(self.path("few/a")), os.makedirs(self.path("few/b"))
        for i in range(8):
            self.write(f"few/{'ab'[i % 2]}/{i}.txt", f"w{i % 2} x y\n")
        self.write("few.yaml", "dataset: {TextClasses: {path: few, unit: words, steps: 4}}\nlayers:\n  - Embedding: {embedding_dim: 3}\n"
                   "  - RecurrentMean\n  - Affine: {nout: classes, activation: Softmax}\ncost: CrossEntropyMulti\n"
                   "optimizer: Adam\nbatch_size: 4\nepochs: 1\n")
        self.neon("few.yaml", "-r", "1", "-s", "few.safetensors")
        self.refused(2, "sample", "few.safetensors", says="its net gives classes to texts and predicts no next token")
        self.refused(3, "predict", "few.safetensors", "w0 x", says="w0 x: there is no such file; if it is a text, give it by "
                     "stdin: echo 'w0 x' | neon predict few.safetensors -")
        self.refused(2, "predict", "few.safetensors", "few*", says="few*: the net takes texts, one in each line of a file, row "
                     "of a table, or file of a folder or archive")
        self.assertEqual([line.split(",")[0] for line in self.neon("predict", "few.safetensors", "few/a").out.splitlines()[1:]],
                         [f"few/a/{i}.txt" for i in (0, 2, 4, 6)])
        self.assertEqual(len(self.neon("predict", "few.safetensors", "few/a/0.txt", "few/a/2.txt").out.splitlines()), 3)

    def test_bad_input_is_told_in_a_line(self):
        self.neon(self.text, "-r", "1", "-e", "1", "-s", "m.safetensors")
        self.write("empty.txt", "")
        self.write("other.txt", "abcabcxx" * 20)
        self.write("alike.txt", "a" * 400)
        self.write("few/a.txt", "abc")
        self.write("cells.csv", "a,b")
        iris = self.spec()
        self.neon(iris, "-e", "1", "-s", "iris.safetensors")
        for arguments, code, told in (
                ([self.text, "--set", "dataset.Text.path=empty.txt"], 3, "empty.txt: the text is empty"),
                ([self.text, "--set", "layers[1].nout=5"], 2,
                 "the last layer gives (6, 5), but each of the 6 steps of the targets has one of 3 classes"),
                ([self.text, "--set", "layers[0]={Affine: {nout: 4, init: Kaiming}}"], 2,
                 "the input is tokens, which only a layer that looks them up takes"),
                (["sample", "m.safetensors", "--prompt", "abx"], 3, "'x', number 3 of its characters, is not in the vocabulary"),
                (["sample", "m.safetensors", "--beam", "2", "--top_k", "1"], 2, "option --beam finds the likeliest text"),
                (["sample", "m.safetensors", "--count", "2"], 2, "option --count: it is for images that a net makes"),
                (["sample", "iris.safetensors"], 2, "its net was not trained on a text"),
                ([self.text, "--set", "dataset.Text.min_count=100000"], 3,
                 "min_count: 100000 leaves out all characters of the training text; expected at least 2 tokens"),
                ([self.text, "--set", "dataset.Text.vocabulary_size=1"], 3, "vocabulary_size: 1 leaves out all characters"),
                ([self.text, "--set", "dataset.Text.vocabulary_size=1", "--set", "dataset.Text.min_count=2"], 3,
                 "vocabulary_size: 1 leaves out all characters"),
                ([self.text, "--set", "dataset.Text.path=alike.txt", "--set", "dataset.Text.vocabulary_size=5"], 3,
                 "all characters of the training text are alike; expected at least 2 tokens"),
                ([self.text, "--set", "dataset.Text.path=alike.txt", "--set", "dataset.Text.min_count=2"], 3,
                 "all characters of the training text are alike; expected at least 2 tokens"),
                (["predict", "m.safetensors", "few"], 2, "few: the net goes on with texts, and has no class for them; neon sample"),
                (["predict", "m.safetensors", "few/a.txt"], 2, "few/a.txt: the net goes on with texts, and has no class for them"),
                (["predict", "m.safetensors", "cells.csv"], 2, "cells.csv: the net goes on with texts, and has no class for them"),
                (["eval", "m.safetensors", "--set", "dataset.Text.path=other.txt"], 3,
                 "'x', number 7 of its characters, is not in the vocabulary of 3"),
                (["eval", "m.safetensors", "--set", "dataset.Text.unit=words"], 2, "the net was trained with characters"),
                (["eval", "m.safetensors", "--set", "dataset=Iris"], 2, "its net was trained on characters of a text")):
            with self.subTest(arguments):
                result = self.neon(*arguments, code=code)
                self.assertIn(told, result.err)
                self.assertEqual(result.err.count("\n"), 1, result.err)


class Sources(Case):
    """Files of their own for texts to test with, and to validate with, are named where these parts are meant."""
    NET = SPEC[SPEC.index("layers:"):].replace("epochs: 6", "epochs: 1")

    def test_results_name_the_file_of_their_samples(self):
        for name, text in ("a", TEXT), ("v", "abcab" * 10), ("t", "acbac" * 10):
            self.write(name + ".txt", text)
            np.array(["abc".index(letter) for letter in text], "<u2").tofile(self.path(name + ".bin"))
        for kind, end, of in ("Text", ".txt", ""), ("Tokens", ".bin", " (uint16)"):
            spec = self.spec(f"dataset: {{{kind}: {{path: a{end}, validation_path: v{end}, test_path: t{end}, steps: 6}}}}\n" + self.NET)
            out = self.neon(spec, "-s", "m.safetensors", "--overwrite").out
            for part, name in ("validation", "v"), ("test", "t"):
                self.assertRegex(out, rf"(?m)^{part}: .*  \({re.escape(name + end + of)}\)$")
            self.assertIn(f"  (t{end}{of}, ", self.neon("eval", "m.safetensors").out)

    def test_messages_name_the_file_that_is_at_fault(self):
        for name, text in ("a", TEXT.encode()), ("x", b"abx" * 9), ("damaged", b"ab\xff" * 9), ("short", b"a"):
            self.write(name + ".txt", text)
        for key in "validation_path", "test_path":
            spec = "dataset: {Text: {path: a.txt, %s: %s.txt, steps: 6}}\n" + self.NET
            self.assertIn("warning: x.txt: of the evaluated text's characters, 1 (as 'x')", self.neon(self.spec(spec % (key, "x"))).err)
            for name in "damaged", "short":
                self.refused(3, self.spec(spec % (key, name)), says=f"neon: {name}.txt: ")


class ResetPeriod(Case):
    def test_states_begin_at_0_in_every_batch_that_the_period_divides(self):
        text = "".join(np.random.default_rng(1).choice(list("abcd"), 61))
        self.write("a.txt", text)
        spec = self.spec("dataset: {Text: {path: a.txt, test_path: a.txt, steps: 3}}\nlayers:\n"
                         "  - Recurrent: {name: h, nout: 4, init: {Gaussian: {scale: 1}}, activation: Tanh}\n"
                         "  - Affine: {name: o, nout: 4, init: {Gaussian: {scale: 1}}, activation: Softmax}\n"
                         "cost: CrossEntropyMulti\noptimizer: {GradientDescentMomentum: {learning_rate: 0}}\n"
                         "batch_size: 2\nepochs: 2\nmetrics: []\n")
        seen = set()
        for period in 0, 1, 2, 3:
            self.neon("-r", "1", "-d", "f64", "-s", "m", "-o", "o.h5", "--set", f"reset_period={period}", spec)
            stored, about = tensors(self.path("m"))
            get = lambda name: np.frombuffer(stored[name][2]).reshape(stored[name][1])
            order = json.loads(about["neon.data"])["vocabulary"]["texts"]
            tokens, costs = np.array([order.index(letter) for letter in text]).reshape(-1), []
            h = np.zeros((2, 4))
            for batch in range(10):  # of the next 3 steps of each of two streams of 30
                h = h * (batch > 0 and (period == 0 or (batch + 1) % period != 0))
                cost = 0
                for step in range(batch * 3, batch * 3 + 3):
                    at = np.array([0, 30]) + step
                    h = np.tanh(get("h/W_input").T[tokens[at]] + h @ get("h/W_recur").T + get("h/b"))
                    y = np.exp(h @ get("o/W").T)
                    cost -= np.log(y[[0, 1], tokens[at + 1]] / y.sum(1)).sum() / 6
                costs.append(cost)
            with h5py.File(self.path("o.h5")) as file:
                np.testing.assert_allclose(file["cost/train"][:], costs * 2, rtol=1e-6)
            told = json.loads(self.neon("eval", "m", "--format", "json").out)["cost"]
            self.assertAlmostEqual(told, np.mean(costs), places=9)
            seen.add(round(told, 6))
        self.assertEqual(len(seen), 4)
        self.refused(2, "--set", "dataset.Text.streams=false", "--set", "reset_period=2", spec,
                     says="reset_period: is for samples that are pieces of streams")


if __name__ == "__main__":
    support.main()
