#!/usr/bin/env python3
"""Writes what byte pair encoding is tested against, and the table of letters that it needs.

tests/datasets/golden/bpe.json: texts split by GPT-2's own expression, and vocabularies and encodings of the plainest
program for them, which counts all pairs anew after each merge. datasets/letter_ranges.inc: the letters and numbers of
Unicode. Both need the package `regex` (pip install regex), which GPT-2 uses.
"""
import collections
import json
import pathlib
import random

import regex

ROOT = pathlib.Path(__file__).parents[2]
# encoder.py of openai/gpt-2.
PATTERN = regex.compile(r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""")
ALPHABETS = ["ab ", "ab c'stremvld", "xyz \n\t", "aZ 1.'\n", "\u00e4\u03b1\u4e00\u0661\u2028\u00a0\u3000 e\u0301",
             "\U0001f600\U00010400\u2167\u00bd \ufeff'!?", "'sS'tT'reRE'veVE'mM'llLL'dD "]


def bytes_to_unicode():
    """As encoder.py of openai/gpt-2 has it."""
    bs = list(range(ord("!"), ord("~") + 1)) + list(range(ord("¡"), ord("¬") + 1)) + list(range(ord("®"), ord("ÿ") + 1))
    cs = bs[:]
    n = 0
    for b in range(2**8):
        if b not in bs:
            bs.append(b)
            cs.append(2**8 + n)
            n += 1
    return dict(zip(bs, map(chr, cs)))


LETTERS = bytes_to_unicode()


def mapped(content):
    return "".join(LETTERS[byte] for byte in content)


def merge(word, pair):
    out, i = [], 0
    while i < len(word):
        if tuple(word[i:i + 2]) == pair:
            out.append(word[i] + word[i + 1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return out


def train(text, size, least):
    """Tokens and merges: always the commonest pair; of several, the one whose tokens come first."""
    tokens = list(LETTERS.values())
    numbers = {token: i for i, token in enumerate(tokens)}
    words = [(list(mapped(word.encode())), count) for word, count in collections.Counter(PATTERN.findall(text)).items()]
    merges = []
    while len(tokens) < size:
        counts = collections.Counter()
        for word, count in words:
            for pair in zip(word, word[1:]):
                counts[pair] += count
        usable = [(-n, numbers[a], numbers[b]) for (a, b), n in counts.items() if n >= least and a + b not in numbers]
        if not usable:
            break
        _, a, b = min(usable)
        pair = tokens[a], tokens[b]
        merges.append(list(pair))
        numbers[pair[0] + pair[1]] = len(tokens)
        tokens.append(pair[0] + pair[1])
        words = [(merge(word, pair), count) for word, count in words]
    return tokens, merges


def encode(text, tokens, merges):
    numbers, ranks = {token: i for i, token in enumerate(tokens)}, {tuple(pair): i for i, pair in enumerate(merges)}
    out = []
    for piece in PATTERN.findall(text):
        word = list(mapped(piece.encode()))
        while True:
            pair = min(zip(word, word[1:]), key=lambda pair: ranks.get(pair, len(ranks)), default=None)
            if pair not in ranks:
                break
            word = merge(word, pair)
        out += [numbers[token] for token in word]
    return out


def drawn_text(rng, length, alphabet=None):
    alphabet = alphabet or rng.choice(ALPHABETS)
    return "".join(rng.choice(alphabet) for _ in range(length))


def words_text(rng, words):
    """Words of a few syllables, some of them common, and line ends."""
    syllables = [drawn_text(rng, rng.randint(1, 3), "aeioulmnrst\u00e9\u4e00") for _ in range(30)]
    vocabulary = ["".join(rng.choice(syllables) for _ in range(rng.randint(1, 4))) for _ in range(100)]
    out = ""
    for _ in range(words):
        word = vocabulary[min(int(rng.expovariate(0.08)), 99)]
        out += word + rng.choice([" ", " ", " ", ", ", ".\n", "'s ", " 19" + str(rng.randint(0, 99)) + " "])
    return out


def golden():
    rng = random.Random(5)
    texts = ["Hello world", "I'll say: it's   don't, we've\n\n  been\t'here' 3.14's", " \n a", "a  ", "  a", "\u3000\u3000b", "'''s"]
    texts += [drawn_text(rng, rng.randint(0, 40)) for _ in range(300)]
    out = {"letters": [LETTERS[byte] for byte in range(256)], "splits": [[t, PATTERN.findall(t)] for t in texts],
           "trained": []}
    for text, size, least in ((words_text(rng, 1500), 400, 2), (drawn_text(rng, 1500, "ab "), 300, 2),
                              ("aaaaaaaaaaa " * 3 + "aaaa", 270, 2), (words_text(rng, 200), 600, 5), ("ab", 300, 2)):
        tokens, merges = train(text, size, least)
        others = [text, words_text(rng, 60), drawn_text(rng, 100), drawn_text(rng, 100, "ab"), "", "aaaaaaaaa"]
        out["trained"].append({"text": text, "size": size, "least": least, "tokens": tokens[256:], "merges": merges,
                               "encoded": [[t, encode(t, tokens, merges)] for t in others]})
    return out


def ranges(pattern):
    found, expression = [], regex.compile(pattern)
    for code in range(0x110000):
        if 0xd800 <= code < 0xe000 or not expression.fullmatch(chr(code)):
            continue
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def table(name, pattern):
    out, line = f"constexpr CodeRange {name}[] = {{\n", "   "
    for first, last in ranges(pattern):
        item = f" {{{first:#x}, {last:#x}}},"
        if len(line) + len(item) > 120:
            out, line = out + line + "\n", "   "
        line += item
    return out + line + "\n};\n"


def main():
    path = ROOT / "tests/datasets/golden/bpe.json"
    path.write_text(json.dumps(golden(), ensure_ascii=True, separators=(",", ":")) + "\n")
    head = "// Letters and numbers of Unicode, from the first to the last of each range; written by tools/golden/make_bpe.py.\n"
    (ROOT / "datasets/letter_ranges.inc").write_text(head + table("kLetters", r"\p{L}") + table("kNumbers", r"\p{N}"))


if __name__ == "__main__":
    main()
