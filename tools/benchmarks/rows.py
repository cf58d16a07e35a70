"""Rows of results.jsonl: one line of JSON for each net, type and device that tools/bench measured. Rows of devices.jsonl
are steps of several GPUs.

The files only grow. The last line of a net and type is the one that counts, on GPUs and on as many threads of CPUs.
"""
import json
import pathlib

FILE = pathlib.Path(__file__).resolve().parent / "results.jsonl"
DEVICES_FILE = FILE.with_name("devices.jsonl")
# What each field holds. None stands where it was not measured, which only the fields of MAY_BE_NONE allow.
FIELDS = {
    "net": str, "type": str, "device": str, "batch": int,
    "neon_ms": float, "neon_mib": float,
    "peer": str, "peer_mode": str, "peer_ms": float, "peer_mib": float, "modes": dict, "ratio": float,
    "commit": str, "date": str, "command": str, "note": str,
}
OF_DEVICES = {
    "net": str, "type": str, "device": str, "devices": int, "scaling": str, "plan": str, "batch": int,
    "neon_ms": float, "alone_ms": float, "computed_ms": float,
    "peer": str, "peer_mode": str, "peer_ms": float, "modes": dict, "ratio": float,
    "commit": str, "date": str, "command": str, "note": str,
}
MAY_BE_NONE = {"neon_mib", "peer_mib"}


def problem_of(row, fields=FIELDS):
    """What is wrong with a row, or None."""
    if set(row) != set(fields):
        wrong = sorted(set(row) ^ set(fields))
        return f"has other fields than it must: {', '.join(wrong)}"
    for field, kind in fields.items():
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


def make_row(fields=FIELDS, **measured):
    """A row of these fields: the fastest of `modes` and the ratio follow from what was measured."""
    fastest = min(measured["modes"], key=measured["modes"].get)
    row = {"peer_mode": fastest, "peer_ms": measured["modes"][fastest],
           "ratio": round(measured["modes"][fastest] / measured["neon_ms"], 2), "note": "", **measured}
    row = {field: row[field] for field in fields}
    problem = problem_of(row, fields)
    if problem:
        raise ValueError(problem)
    return row


def append(row, path=FILE):
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def read(path=FILE, fields=FIELDS):
    rows = []
    for number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").splitlines(), 1):
        row = json.loads(line)
        problem = problem_of(row, fields)
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


def latest_of_devices(rows):
    """The last row of each net, type, number of GPUs, scaling and plan."""
    return list({tuple(row[key] for key in ("net", "type", "devices", "scaling", "plan")): row for row in rows}.values())
