#!/usr/bin/python3
"""Weights of a text net for another text: rows of tables and classifiers go by the text of their token."""
import re

import numpy as np

import support
from support import Case, tensors

NET = """layers:
FIRST
  - END
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: RATE}}
batch_size: 4
epochs: 1
"""
TABLE = "  - Embedding: {name: e, nout: 4}\n  - GRU: {name: g, output_size: 4}"
CELLS = "  - GRU: {name: g, output_size: 4}"
END = "Affine: {name: a, nout: classes, bias: {Constant: 0}, activation: Softmax}"
TEXT = "dataset: {Text: {path: %s.txt, steps: 8, unit: %s}}\n"


def values(path):
    return {name: np.frombuffer(content, np.float32).reshape(shape) for name, (_, shape, content) in tensors(path)[0].items()}


class TokenRows(Case):
    def trained(self, name, dataset, first=TABLE, rate="0.01", *more, end=END):
        net = NET.replace("FIRST", first).replace("RATE", rate).replace("END", end)
        said = self.neon(self.spec(dataset + net, name + ".yaml"), "-r", "1", "-s", name + ".safetensors", "--overwrite", *more).err
        return values(self.path(name + ".safetensors")), said

    def text(self, name, words, unit="characters"):
        self.write(name + ".txt", words * 20)
        return TEXT % (name, unit)

    def check_rows(self, then, now, old, new, axis=0):
        """Numbers of tokens that both have are those of then."""
        for k, token in enumerate(new):
            mine = np.take(now, k, axis)
            if token in old: np.testing.assert_array_equal(mine, np.take(then, old.index(token), axis), token)
            else: self.assertTrue(all(np.any(mine != np.take(then, i, axis)) for i in range(len(old))) or not mine.any(), token)

    def test_rows_go_by_the_text_of_their_token(self):
        for letters in "dcbx", "dcbxy", "dc":
            then, _ = self.trained("a", self.text("a", "abcd"))
            now, said = self.trained("b", self.text("b", letters), TABLE, "0", "--model_file", "a.safetensors")
            new = sorted(letters)
            for name in "e/W", "a/W", "a_bias/b":
                self.check_rows(then[name], now[name], list("abcd"), new)
            np.testing.assert_array_equal(then["g/W_recur"], now["g/W_recur"])
            both = len(set("abcd") & set(letters))
            added = ", ".join(f"'{k}'" for k in new if k not in "abcd")
            self.assertIn("a.safetensors: all 6 tensors taken\n", said)
            self.assertIn(f"note: by token: e/W, a/W, a_bias/b; {both} of {len(new)} tokens are among the 4 of that net"
                          + (f"; new: {added}\n" if added else "\n"), said)
            self.assertNotIn("warning: token", said)
            self.assertIn("note: by token: e/W", self.neon("check", "b.yaml", "--model_file", "a.safetensors").err)

    def test_a_classifier_may_be_several_layers(self):
        """With a rate of 0 a step moves the running statistics alone, so that a line tells of these."""
        convolution = "Conv: {name: a, fshape: 2, causal: true, nofm: %d, bias: {Constant: 0}, activation: Softmax}"
        for end, names in (("Linear: {name: a, nout: classes}\n  - Bias: {name: b}\n  - Activation: Softmax", ["a/W", "b/b"]),
                           ("Affine: {name: a, nout: classes, batch_norm: true, activation: Softmax}",
                            ["a/W", "a_bnorm/gamma", "a_bnorm/beta", "a_bnorm/gmean", "a_bnorm/gvar"]),
                           (convolution, ["a/W", "a_bias/b"])):
            of = lambda letters: end % len(letters) if "%" in end else end
            then, _ = self.trained("a", self.text("a", "abcd"), end=of("abcd"))
            for letters in "dcbx", "dcbxy":
                with self.subTest(end=end, letters=letters):
                    now, said = self.trained("b", self.text("b", letters), TABLE, "0", "--model_file", "a.safetensors", end=of(letters))
                    self.assertIn(f"note: by token: {', '.join(['e/W'] + names)}; 3 of {len(letters)} tokens are", said)
                    for name in names:
                        if not name.endswith(("gmean", "gvar")): self.check_rows(then[name], now[name], list("abcd"), sorted(letters))

    def test_columns_of_cells_that_read_tokens_go_by_token(self):
        then, _ = self.trained("a", self.text("a", "abcd"), CELLS)
        now, _ = self.trained("b", self.text("b", "xdcby"), CELLS, "0", "--model_file", "a.safetensors")
        self.check_rows(then["g/W_input"], now["g/W_input"], list("abcd"), list("bcdxy"), axis=1)

    def test_a_classifier_of_texts_takes_the_words_of_a_text(self):
        then, _ = self.trained("a", self.text("a", "one two three\n", "words"))
        self.write("t.csv", "text,label\nthree two,p\nfour two,n\ntwo,p\nfour,n\n")
        dataset = "dataset: {TextClasses: {path: t.csv, test: 0}}\n"
        now, said = self.trained("b", dataset, TABLE + "\n  - RecurrentLast", "0", "--model_file", "a.safetensors")
        # Of <unk>, two, four and three the text has two.
        counts = [i for i in range(4) if any(np.array_equal(now["e/W"][i], row) for row in then["e/W"])]
        self.assertEqual(len(counts), 2)
        self.assertIn("note: by token: e/W; 2 of 4 tokens are among the 4 of that net; new: '<unk>', 'four'", said)
        self.assertIn("new: a/W (2, 4) in place of (4, 4), a_bias/b (2) in place of (4)", said)

    def test_frozen_rows_of_new_tokens_are_named(self):
        self.trained("a", self.text("a", "abcd"))
        frozen = TABLE.replace("nout: 4}", "nout: 4, update: false}", 1)
        for letters, count in ("dcbxy", 2), ("dcb", 0):
            _, said = self.trained("b", self.text("b", letters), frozen, "0.01", "--model_file", "a.safetensors")
            line = f"warning: frozen: e/W; rows of the {count} new tokens keep the values that they begin with; to train them"
            self.assertEqual(line in said, count > 0, said)

    def test_texts_without_a_token_in_common_begin_anew(self):
        self.trained("a", self.text("a", "abcd"))
        now, said = self.trained("b", self.text("b", "wxyz"), TABLE, "0", "--model_file", "a.safetensors")
        self.assertIn("3 of 6 tensors taken; new: e/W of other tokens, a/W of other tokens, a_bias/b of other tokens", said)

    def test_the_first_cost_of_check_is_that_of_the_weights_taken(self):
        self.trained("a", self.text("a", "abcd"))
        self.write("b.txt", "dcbxy" * 6 + "dcb")  # 32 targets: one batch of 4 pieces
        spec = self.spec(TEXT % ("b", "characters") + NET.replace("FIRST", TABLE).replace("RATE", "0").replace("END", END), "b.yaml")
        checked, run = (self.neon(*verb, spec, "-r", "1", "--model_file", "a.safetensors") for verb in (["check"], []))
        first = re.search(r"begins at ([\d.]+);", checked.out)[1]
        self.assertIn(f"cost {first}", run.out + run.err)


if __name__ == "__main__":
    support.main()
