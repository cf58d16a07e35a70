#!/usr/bin/python3
"""Writes tests/datasets/golden with NumPy and h5py (Debian: python3-numpy python3-h5py).

Element i of an array (counted in row-major order) is
  7 i + 3 (unsigned), 7 i - 20 (signed), 0.25 i - 1 (float), i % 3 == 0 (bool),
which the tests compute again. Run from the root of the repository: tools/golden/make_dataset_files.py
"""
import gzip
import os
import struct

import h5py
import numpy as np

OUT = os.path.join(os.path.dirname(__file__), "..", "..", "tests", "datasets", "golden")


def array(dtype, shape):
    dtype = np.dtype(dtype)
    i = np.arange(np.prod(shape, dtype=int))
    values = {"u": 7 * i + 3, "i": 7 * i - 20, "f": 0.25 * i - 1, "b": i % 3 == 0}[dtype.kind]
    return values.astype(dtype).reshape(shape)


def write(name, data):
    with open(os.path.join(OUT, name), "wb") as f:
        f.write(data)


def npy_bytes(a, version=None):
    import io

    out = io.BytesIO()
    np.lib.format.write_array(out, a, version=version, allow_pickle=True)
    return out.getvalue()


def make_npy():
    for kind in ["b1", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"]:
        for order in "<>" if kind[1] != "1" else "|":
            write(f"{kind}_{ {'<': 'little', '>': 'big', '|': 'byte'}[order] }.npy", npy_bytes(array(order + kind, (2, 3, 4))))
    for version in [(1, 0), (2, 0), (3, 0)]:
        write(f"version_{version[0]}.npy", npy_bytes(array("<f4", (5, 2)), version))
    write("fortran.npy", npy_bytes(np.asfortranarray(array("<i4", (2, 3, 4)))))
    write("fortran_big.npy", npy_bytes(np.asfortranarray(array(">f8", (3, 5)))))
    write("scalar.npy", npy_bytes(array("<f8", ())))
    write("empty.npy", npy_bytes(array("<f4", (0, 3))))
    write("object.npy", npy_bytes(np.array([{"a": 1}, None], dtype=object)))
    write("structured.npy", npy_bytes(np.zeros(2, dtype=[("x", "<f4"), ("y", "<i4")])))
    write("text.npy", npy_bytes(np.array(["cat", "dog"])))
    write("complex.npy", npy_bytes(np.zeros(2, dtype="<c8")))
    header = b"{'descr': '<i4', 'fortran_order': False, 'shape': (3L,), }"
    header += b" " * (64 - 10 - len(header) - 1) + b"\n"
    write("python2.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + array("<i4", (3,)).tobytes())


def make_npz():
    x, y = array("u1", (6, 2, 3)), np.array([0, 2, 1, 0, 2, 1], "<i8")
    arrays = dict(x_train=x, y_train=y, x_test=x[:2], y_test=y[:2])
    np.savez(os.path.join(OUT, "stored.npz"), **arrays)
    np.savez_compressed(os.path.join(OUT, "deflated.npz"), **arrays)


def make_idx():
    types = {0x08: "u1", 0x09: "i1", 0x0B: "i2", 0x0C: "i4", 0x0D: "f4", 0x0E: "f8"}

    def idx(a, code):
        head = struct.pack(">BBBB", 0, 0, code, a.ndim) + struct.pack(f">{a.ndim}I", *a.shape)
        return head + a.astype(a.dtype.newbyteorder(">")).tobytes()

    for code, kind in types.items():
        write(f"{kind}.idx", idx(array(kind, (2, 3, 4)), code))
    write("u1.idx.gz", gzip.compress(idx(array("u1", (2, 3, 4)), 8), mtime=0))
    # Image i is filled with i, its label is i % 10.
    os.makedirs(os.path.join(OUT, "mnist"), exist_ok=True)
    for split, n in [("train", 20), ("t10k", 10)]:
        images = np.repeat(np.arange(n, dtype="u1"), 28 * 28).reshape(n, 28, 28)
        labels = (np.arange(n) % 10).astype("u1")
        write(f"mnist/{split}-images-idx3-ubyte.gz", gzip.compress(idx(images, 8), mtime=0))
        write(f"mnist/{split}-labels-idx1-ubyte.gz", gzip.compress(idx(labels, 8), mtime=0))


def make_h5():
    def file(name, n, x_dtype="u1", y=None, lshape=(2, 2, 3), nclass=3, mean=None, **options):
        with h5py.File(os.path.join(OUT, name), "w", libver=("earliest", "v108")) as f:
            x = f.create_dataset("input", data=array(x_dtype, (n, 12)), track_times=False, **options)
            if lshape:
                x.attrs["lshape"] = lshape
            if y is not None:
                d = f.create_dataset("output", data=y, track_times=False)
                if nclass:
                    d.attrs["nclass"] = nclass
            if mean is not None:
                f.create_dataset("mean", data=mean, track_times=False)

    labels = np.array([0, 2, 1, 0], "<i4").reshape(4, 1)
    file("train.h5", 4, y=labels)
    file("test.h5", 2, y=labels[:2])
    file("chunked.h5", 4, y=labels, chunks=(2, 12), compression="gzip", shuffle=True)
    file("regression.h5", 4, "<f8", y=array("<f4", (4, 2)), nclass=None)
    file("autoencoder.h5", 4, "<f4")
    file("channel_mean.h5", 4, y=labels, mean=np.array([1.0, 2.0]))
    file("full_mean.h5", 4, y=labels, mean=np.arange(12.0).reshape(2, 2, 3))
    file("bad_label.h5", 4, y=labels, nclass=2)
    with h5py.File(os.path.join(OUT, "link.h5"), "w") as f:
        f["input"] = h5py.ExternalLink("train.h5", "input")
    with h5py.File(os.path.join(OUT, "external.h5"), "w") as f:
        f.create_dataset("input", (4, 12), "u1", external=[("elsewhere.bin", 0, 48)])
    with h5py.File(os.path.join(OUT, "unwritten.h5"), "w") as f:
        f.create_dataset("input", (1 << 30, 1 << 20), "f4", chunks=(1, 1 << 10))
    make_h5_of_kinds()


def make_h5_of_kinds():
    """Types, filters and layouts that h5py and other writers use."""
    labels = np.array([0, 2, 1, 0], "<i4")
    with h5py.File(os.path.join(OUT, "bool.h5"), "w", libver=("earliest", "v108")) as f:
        f.create_dataset("input", data=array("?", (4, 12)), track_times=False)
        f.create_dataset("output", data=np.array([True, False, False, True]), track_times=False)
    with h5py.File(os.path.join(OUT, "fill.h5"), "w", libver=("earliest", "v108")) as f:
        f.create_dataset("input", (4, 12), "<f4", fillvalue=0.5, track_times=False)  # never written
        part = f.create_dataset("output", (4, 6), "<f4", chunks=(2, 6), fillvalue=-2, track_times=False)
        part[:2] = array("<f4", (2, 6))
    with h5py.File(os.path.join(OUT, "scaleoffset.h5"), "w", libver=("earliest", "v108")) as f:
        f.create_dataset("input", data=array("<i4", (4, 12)), chunks=(2, 12), scaleoffset=0, track_times=False)
        f.create_dataset("output", data=np.full(4, 7, "<i4"), chunks=(4,), scaleoffset=0, track_times=False)
    with h5py.File(os.path.join(OUT, "constant.h5"), "w", libver=("earliest", "v108")) as f:  # 2.4 MB in 200 bytes
        f.create_dataset("input", data=np.full((50000, 12), 3, "<i4"), chunks=(5000, 12), scaleoffset=0, track_times=False)
    with h5py.File(os.path.join(OUT, "one_hot.h5"), "w", libver=("earliest", "v108")) as f:
        f.create_dataset("input", data=array("u1", (4, 12)), track_times=False)
        f.create_dataset("output", data=np.eye(3, dtype="<f4")[labels], track_times=False)
    with h5py.File(os.path.join(OUT, "from_one.h5"), "w", libver=("earliest", "v108")) as f:
        f.create_dataset("input", data=array("u1", (4, 12)), track_times=False)
        f.create_dataset("output", data=labels + 1, track_times=False)
    with h5py.File(os.path.join(OUT, "rows.h5"), "w", libver=("earliest", "v108")) as f:  # 400 MB in 400 kB
        f.create_dataset("input", data=array("u1", (4, 12)), track_times=False)
        d = f.create_dataset("output", (100 << 20,), "<i4", chunks=(1 << 20,), compression="gzip", track_times=False)
        d[:1 << 20] = 0


os.makedirs(OUT, exist_ok=True)
make_npy()
make_npz()
make_idx()
make_h5()
