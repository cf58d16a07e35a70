"""Crops by numpy.pad, slices and [::-1], boxes by their formula. See make_golden_images.py."""
import numpy as np

from golden_file import stream

PAD = {0: dict(mode="constant"), 1: dict(mode="reflect"), 2: dict(mode="edge")}  # backends/graph/images.h: Border
WIDE = 40  # pixels added on every side


def crop(data, indices, place, height, width, border):
    out = []
    for index, (top, left, flip) in zip(indices, place):
        padded = np.pad(data[index], ((WIDE, WIDE), (WIDE, WIDE), (0, 0)), **PAD[border])
        part = padded[WIDE + top:WIDE + top + height, WIDE + left:WIDE + left + width]
        out.append(part[:, ::-1] if flip else part)
    return np.array(out)


def resample(data, indices, box, height, width):
    """Between the middles of pixels by numpy.interp, along one axis and then the other."""
    out = []
    for index, (top, left, h, w) in zip(indices, box):
        image = data[index].astype(np.float64)
        rows = top + (np.arange(height) + 0.5) * h / height - 0.5
        columns = left + (np.arange(width) + 0.5) * w / width - 0.5
        image = np.apply_along_axis(lambda line: np.interp(rows, np.arange(len(line)), line), 0, image)
        out.append(np.apply_along_axis(lambda line: np.interp(columns, np.arange(len(line)), line), 1, image))
    return np.array(out)


def nearest(data, indices, box, height, width):
    """The pixel that each place lies in; outside, the nearest one."""
    out = []
    for index, (top, left, h, w) in zip(indices, box):
        rows, columns = top + (np.arange(height) + 0.5) * h / height, left + (np.arange(width) + 0.5) * w / width
        assert np.abs(np.concatenate([rows, columns]) - np.round(np.concatenate([rows, columns]))).min() > 1e-5
        rows, columns = (np.clip(np.floor(at).astype(int), 0, size - 1) for at, size in zip((rows, columns), data.shape[1:3]))
        out.append(data[index][rows][:, columns])
    return np.array(out)


def leaning(data, indices, box, height, width, whole):
    """Each pixel by itself, from a place in a parallelogram: the mean of four neighbours by distance, or the nearest."""
    out = np.zeros((len(indices), height, width, data.shape[3]))
    most = np.array(data.shape[1:3]) - 1
    for n, (index, (top, left, h, w, down, right)) in enumerate(zip(indices, box)):
        for i, j in np.ndindex(height, width):
            v, u = (i + 0.5) / height, (j + 0.5) / width
            at = np.array([top + v * h + u * down, left + u * w + v * right]) - 0.5
            if whole:
                assert np.abs(at - np.floor(at) - 0.5).min() > 1e-5
                row, column = np.clip(np.floor(at + 0.5).astype(int), 0, most)
                out[n, i, j] = data[index, row, column]
                continue
            at = np.clip(at, 0, most)
            first = np.minimum(np.floor(at).astype(int), most)
            for pixel in np.ndindex(2, 2):
                row, column = np.minimum(first + pixel, most)
                share = np.prod(np.where(pixel, at - first, 1 - (at - first)))
                out[n, i, j] += share * data[index, row, column]
    return out


def crops():
    cases = []
    for shape, height, width, border in ((5, 6, 7, 3), 6, 7, 0), ((3, 5, 4, 1), 3, 2, 0), ((4, 4, 4, 2), 7, 9, 1), \
            ((2, 3, 5, 3), 8, 6, 2), ((3, 1, 1, 2), 3, 3, 1), ((2, 3, 2, 4), 4, 5, 1):
        rng = stream("crop", shape, height, width)
        data = rng.integers(0, 256, shape, dtype=np.uint8)
        indices = rng.integers(0, shape[0], 6)
        place = np.concatenate([rng.integers(-7, 8, (6, 2)), np.arange(6)[:, None] % 2], axis=1)
        cases.append(dict(op="crop", data=data, indices=indices, place=place, height=height, width=width, border=border,
                          y=crop(data, indices, place, height, width, border)))
    for shape, height, width in ((4, 6, 7, 3), 5, 9), ((2, 8, 5, 1), 3, 3), ((3, 1, 2, 2), 2, 4):
        rng = stream("resample", shape, height, width)
        data = rng.integers(0, 256, shape, dtype=np.uint8)
        indices = rng.integers(0, shape[0], 5)
        box = np.round(np.concatenate([rng.uniform(-2, 3, (5, 2)), rng.uniform(0.5, 6, (5, 2))], axis=1) * 64) / 64
        cases.append(dict(op="resample", data=data, indices=indices, place=box, height=height, width=width, border=0,
                          y=resample(data, indices, box, height, width)))
    for shape, height, width in ((4, 6, 7, 1), 5, 9), ((2, 8, 5, 3), 11, 3), ((3, 1, 2, 2), 3, 5):
        rng = stream("nearest", shape, height, width)
        data = rng.integers(0, 256, shape, dtype=np.uint8)
        indices = rng.integers(0, shape[0], 5)
        box = np.concatenate([rng.uniform(-2, 3, (5, 2)), rng.uniform(0.5, 6, (5, 2))], axis=1).astype("f4")
        box[0] = 0.07, shape[2] - 0.01, shape[1] - 0.23, 0.04 - shape[2]  # mirrored
        cases.append(dict(op="nearest", data=data, indices=indices, place=box.astype(float), height=height, width=width,
                          border=0, y=nearest(data, indices, box.astype(float), height, width)))
    for op, shape, height, width in (("resample", (4, 6, 7, 3), 5, 9), ("nearest", (4, 7, 5, 2), 6, 4), ("resample", (2, 1, 3, 1), 3, 2)):
        rng = stream("leaning", op, shape, height, width)
        data = rng.integers(0, 256, shape, dtype=np.uint8)
        indices = rng.integers(0, shape[0], 5)
        box = np.concatenate([rng.uniform(-2, 3, (5, 2)), rng.uniform(-6, 6, (5, 4))], axis=1).astype("f4").astype(float)
        cases.append(dict(op=op, data=data, indices=indices, place=box, height=height, width=width, border=0,
                          y=leaning(data, indices, box, height, width, op == "nearest")))
    return cases
