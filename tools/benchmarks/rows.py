"""Rows of results.jsonl: one line of JSON for each net, type and device that tools/bench measured.

The file only grows. The last line of a net and type is the one that counts, on GPUs and on as many threads of CPUs.
"""
import json
import pathlib

FILE = pathlib.Path(__file__).resolve().parent / "results.jsonl"
# What each field holds. None stands where it was not measured, which only the fields of MAY_BE_NONE allow.
FIELDS = {
    "net": str, "type": str, "device": str, "batch": int,
    "neon_ms": float, "neon_mib": float,
    "peer": str, "peer_mode": str, "peer_ms": float, "peer_mib": float, "modes": dict, "ratio": float,
    "commit": str, "date": str, "command": str, "note": str,
}
MAY_BE_NONE = {"neon_mib", "peer_mib"}


def problem_of(row):
    """What is wrong with a row, or None."""
    if set(row) != set(FIELDS):
        wrong = sorted(set(row) ^ set(FIELDS))
        return f"has other fields than it must: {', '.join(wrong)}"
    for field, kind in FIELDS.items():
        value = row[field]
        if value is None and field in MAY_BE_NONE:
            continue
        if not isinstance(value, (int, float) if kind is float else kind):
            return f"{field} is {value!r} and must be of type {kind.__name__}"
    if row["peer_ms"] != row["modes"].get(row["peer_mode"]) or row["peer_ms"] != min(row["modes"].values()):
        return f"peer_mode {row['peer_mode']} is not the fastest of {row['modes']}"
    if abs(row["ratio"] - row["peer_ms"] / row["neon_ms"]) > 0.006:
        return f"ratio is {row['ratio']}, but {row['peer_ms']} / {row['neon_ms']} is {row['peer_ms'] / row['neon_ms']:.2f}"
    return None


def make_row(**fields):
    """A row of measured fields: the fastest of `modes` and the ratio follow from them."""
    fastest = min(fields["modes"], key=fields["modes"].get)
    row = {"peer_mode": fastest, "peer_ms": fields["modes"][fastest],
           "ratio": round(fields["modes"][fastest] / fields["neon_ms"], 2), "note": "", **fields}
    row = {field: row[field] for field in FIELDS}
    problem = problem_of(row)
    if problem:
        raise ValueError(problem)
    return row


def append(row, path=FILE):
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def read(path=FILE):
    rows = []
    for number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").splitlines(), 1):
        row = json.loads(line)
        problem = problem_of(row)
        if problem:
            raise ValueError(f"{path}:{number}: {problem}")
        rows.append(row)
    return rows


def place(row):
    """What a row is compared on: a GPU, or so many threads of a CPU."""
    name, _, threads = row["device"].rpartition(", ")
    return threads if name and threads.endswith(" threads") else "GPU"


def latest(rows):
    """The last row of each net, type and place, whichever machine it was measured on."""
    return list({(row["net"], row["type"], place(row)): row for row in rows}.values())
