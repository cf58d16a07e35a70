"""Reverse-mode differentiation over NumPy arrays in f64, as short as golden files and mirror of images need it.

A Var has a value and, after backward(), a gradient. Images are (N, ..., C), filters (K, ..., C / groups). What each
function says of its gradient is held to central differences by check().
"""
import itertools

import numpy as np


class Var:
    def __init__(self, value, parents=(), pull=None):
        self.value, self.parents, self.pull, self.grad = np.asarray(value, np.float64), parents, pull, None

    def backward(self, seed):
        order, seen = [], set()

        def visit(var):
            if id(var) not in seen:
                seen.add(id(var))
                for parent in var.parents:
                    visit(parent)
                order.append(var)

        visit(self)
        for var in order:
            var.grad = np.zeros_like(var.value)
        self.grad = np.asarray(seed, np.float64)
        for var in reversed(order):
            if var.pull:
                for parent, grad in zip(var.parents, var.pull(var.grad)):
                    parent.grad = parent.grad + grad

    def __add__(self, other):
        return Var(self.value + other.value, (self, other),
                   lambda g: (like(g, self.value), like(g, other.value)))


def like(g, value):
    """A gradient summed over the axes along which the value was repeated."""
    g = g.sum(axis=tuple(range(g.ndim - value.ndim)))
    return g.sum(axis=tuple(i for i in range(g.ndim) if value.shape[i] == 1), keepdims=True)


def elementwise(x, y, slope):
    return Var(y, (x,), lambda g: (g * slope,))


def minus(x, y):
    return Var(x.value - y.value, (x, y), lambda g: (g, -g))


def times(x, y):
    return Var(x.value * y.value, (x, y), lambda g: (g * y.value, g * x.value))


def power(x, factor, exponent):
    """(1 + factor x)^exponent"""
    base = 1 + factor * x.value
    return elementwise(x, base**exponent, exponent * factor * base**(exponent - 1))


def relu(x):
    return elementwise(x, np.maximum(x.value, 0), x.value > 0)


def tanh(x):
    y = np.tanh(x.value)
    return elementwise(x, y, 1 - y * y)


def logistic(x):
    y = 1 / (1 + np.exp(-x.value))
    return elementwise(x, y, y * (1 - y))


def reshape(x, shape):
    return Var(x.value.reshape(shape), (x,), lambda g: (g.reshape(x.value.shape),))


def moveaxis(x, source, to):
    return Var(np.moveaxis(x.value, source, to), (x,), lambda g: (np.moveaxis(g, to, source),))


def linear(x, w):
    return Var(x.value @ w.value.T, (x, w), lambda g: (g @ w.value, g.T @ x.value))


def both(padding):
    """Before and after an axis, given as one number or two."""
    return padding if isinstance(padding, tuple) else (padding, padding)


def taps(size, strides, padding, dilation, space):
    """For every place of a window: the slices of the padded input that it meets, one element an output."""
    outs = [(n + sum(both(p)) - d * (f - 1) - 1) // s + 1
            for n, f, s, p, d in zip(space, size, strides, padding, dilation)]
    for place in itertools.product(*map(range, size)):
        yield place, tuple(slice(i * d, i * d + (o - 1) * s + 1, s) for i, d, o, s in zip(place, dilation, outs, strides))


def pad(x, padding, value=0.0):
    return np.pad(x, [(0, 0)] + [both(p) for p in padding] + [(0, 0)] * (x.ndim - 1 - len(padding)),
                  constant_values=value)


def unpad(x, padding):
    return x[(slice(None),) + tuple(slice(both(p)[0], x.shape[i + 1] - both(p)[1])
                                        for i, p in enumerate(padding))]


def convolution(x, w, strides, padding, dilation=(1, 1, 1), groups=1):
    """x (N, space, C), w (K, filter, C / groups) -> (N, space, K)"""
    size, space = w.value.shape[1:-1], x.value.shape[1:-1]
    padded, c, k = pad(x.value, padding), w.value.shape[-1], w.value.shape[0] // groups
    places = list(taps(size, strides, padding, dilation, space))

    def part(group):
        return (Ellipsis, slice(group * c, group * c + c)), slice(group * k, group * k + k)

    def all_at(at):
        return (slice(None),) + at

    y = 0
    for place, at in places:
        seen = padded[all_at(at)]
        y = y + np.concatenate([seen[part(g)[0]] @ w.value[part(g)[1]][(slice(None),) + place].T for g in range(groups)],
                               axis=-1)

    def pull(g):
        dx, dw = np.zeros_like(padded), np.zeros_like(w.value)
        for place, at in places:
            for group in range(groups):
                channels, maps = part(group)
                of_group = g[..., maps]
                dx[all_at(at)][channels] += of_group @ w.value[maps][(slice(None),) + place]
                dw[maps][(slice(None),) + place] += np.tensordot(of_group, padded[all_at(at)][channels],
                                                                axes=[list(range(of_group.ndim - 1))] * 2)
        return unpad(dx, padding), dw

    return Var(y, (x, w), pull)


def local(x, w, strides, padding, dilation=(1, 1, 1)):
    """A convolution with filters w (places, K, filter..., C) of their own at each place."""
    samples, space = x.value.shape[0], x.value.shape[1:-1]
    padded, channels = pad(x.value, padding), x.value.shape[-1]
    places = [(place, (slice(None),) + at) for place, at in taps(w.value.shape[2:-1], strides, padding, dilation, space)]
    outs = padded[places[0][1]].shape[1:-1]

    def seen(at):  # (N, places, C)
        return padded[at].reshape(samples, -1, channels)

    y = sum(np.einsum("npc,pkc->npk", seen(at), w.value[(slice(None), slice(None)) + place]) for place, at in places)

    def pull(g):
        g, dx, dw = g.reshape(y.shape), np.zeros_like(padded), np.zeros_like(w.value)
        for place, at in places:
            taken = (slice(None), slice(None)) + place
            dx[at] += np.einsum("npk,pkc->npc", g, w.value[taken]).reshape(dx[at].shape)
            dw[taken] = np.einsum("npk,npc->pkc", g, seen(at))
        return unpad(dx, padding), dw

    return Var(y.reshape(samples, *outs, -1), (x, w), pull)


def largest(x, pieces):
    """Of every few neighbours along the last axis; equal ones share the gradient."""
    parts = x.value.reshape(*x.value.shape[:-1], -1, pieces)
    y = parts.max(-1, keepdims=True)
    share = (parts == y) / (parts == y).sum(-1, keepdims=True)
    return Var(y[..., 0], (x,), lambda g: ((share * g[..., None]).reshape(x.value.shape),))


def first(x, end, begin=0):
    def pull(g):
        dx = np.zeros_like(x.value)
        dx[..., begin:end] = g
        return (dx,)

    return Var(x.value[..., begin:end], (x,), pull)


def shuffled(x, groups):
    """Feature g K + k of K in each group as feature k groups + g."""
    order = np.arange(x.value.shape[-1]).reshape(groups, -1).T.ravel()
    return Var(x.value[..., order], (x,), lambda g: (g[..., np.argsort(order)],))


def deconvolution(x, w, strides, padding, dilation=(1, 1, 1)):
    """x (N, space, K), w (K, filter, C) -> the larger (N, space, C) of which x has the shape of a convolution"""
    size = w.value.shape[1:-1]
    space = [(n - 1) * s - 2 * p + d * (f - 1) + 1
             for n, s, p, d, f in zip(x.value.shape[1:-1], strides, padding, dilation, size)]
    places = list(taps(size, strides, padding, dilation, space))
    y = np.zeros([x.value.shape[0]] + [n + 2 * p for n, p in zip(space, padding)] + [w.value.shape[-1]])
    for place, at in places:
        y[(slice(None),) + at] += x.value @ w.value[(slice(None),) + place]

    def pull(g):
        padded, dx, dw = pad(g, padding), np.zeros_like(x.value), np.zeros_like(w.value)
        for place, at in places:
            seen = padded[(slice(None),) + at]
            dx += seen @ w.value[(slice(None),) + place].T
            dw[(slice(None),) + place] = np.tensordot(x.value, seen, axes=[list(range(seen.ndim - 1))] * 2)
        return dx, dw

    return Var(unpad(y, padding), (x, w), pull)


def windows(x, size, strides, padding, value):
    """Every window's elements along a new first axis; a function that puts gradients of them back."""
    places = list(taps(size, strides, padding, (1,) * len(size), x.value.shape[1:len(size) + 1]))
    padded = pad(x.value, padding, value)

    def back(gradients):
        out = np.zeros_like(padded)
        for (_, at), g in zip(places, gradients):
            out[(slice(None),) + at] += g
        return (unpad(out, padding),)

    return np.stack([padded[(slice(None),) + at] for _, at in places]), back


def pool_max(x, size, strides, padding):
    seen, back = windows(x, size, strides, padding, -np.inf)
    first = seen.argmax(axis=0)
    return Var(seen.max(axis=0), (x,), lambda g: back([(first == i) * g for i in range(len(seen))]))


def pool_avg(x, size, strides, padding):
    """The mean of the elements that are there."""
    seen, back = windows(x, size, strides, padding, np.nan)
    count = np.isfinite(seen).sum(axis=0)
    return Var(np.nansum(seen, axis=0) / count, (x,), lambda g: back([g / count] * len(seen)))


def pool_caffe_avg(x, size, strides, padding):
    """Caffe's mean (pooling_layer.cpp): padding counts as zeros, as far as there is as much behind as before."""
    seen, back = windows(x, size, strides, padding, 0.0)
    count = np.ones(())
    for axis, (n, f, s, (before, _)) in enumerate(zip(x.value.shape[1:], size, strides, padding)):
        begin = np.arange(seen.shape[axis + 2]) * s - before
        own = np.minimum(begin + f, n + before) - begin
        count = count * own.reshape([-1 if a == axis + 1 else 1 for a in range(x.value.ndim)])
    return Var(seen.sum(axis=0) / count, (x,), lambda g: back([g / count] * len(seen)))


def pool_sum(x, size, strides, padding):
    seen, back = windows(x, size, strides, padding, 0.0)
    return Var(seen.sum(axis=0), (x,), lambda g: back([g] * len(seen)))


def around(x, before, after):
    """Sums of each element with so many before and after it along the last axis."""
    def sums(v, before, after):
        padded = np.pad(v, [(0, 0)] * (v.ndim - 1) + [(before, after)])
        return sum(padded[..., i:i + v.shape[-1]] for i in range(before + after + 1))

    return Var(sums(x.value, before, after), (x,), lambda g: (sums(g, after, before),))


def pool_l2(x, size, strides, padding):
    seen, back = windows(x, size, strides, padding, 0.0)
    y = np.sqrt((seen * seen).sum(axis=0))
    return Var(y, (x,), lambda g: back([g * s / np.maximum(y, 1e-15) for s in seen]))  # of zeros: 0


def batch_norm(x, gamma, beta, eps):
    """Over all axes but the last; also the batch's mean and (population) variance."""
    axes = tuple(range(x.value.ndim - 1))
    mean, variance = x.value.mean(axes), x.value.var(axes)
    deviation = np.sqrt(variance + eps)
    normal = (x.value - mean) / deviation

    def pull(g):
        dnormal = g * gamma.value
        dx = (dnormal - dnormal.mean(axes) - normal * (dnormal * normal).mean(axes)) / deviation
        return dx, (g * normal).sum(axes), g.sum(axes)

    return Var(normal * gamma.value + beta.value, (x, gamma, beta), pull), mean, variance


def cross_entropy(x, labels):
    """Mean cost of logits (N, classes) for class numbers."""
    shifted = x.value - x.value.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    rows = np.arange(len(labels))

    def pull(g):
        d = np.exp(logs)
        d[rows, labels] -= 1
        return (g * d / len(labels),)

    return Var(-logs[rows, labels].mean(), (x,), pull)


def check(function, variables, seed, step=1e-6):
    """Central differences of sum(seed * function()) by every element of the variables, against backward()."""
    function().backward(seed)
    expected = [v.grad.copy() for v in variables]
    for v, gradient in zip(variables, expected):
        for at in np.ndindex(*v.value.shape):
            kept = v.value[at]
            v.value[at] = kept + step
            above = (seed * function().value).sum()
            v.value[at] = kept - step
            below = (seed * function().value).sum()
            v.value[at] = kept
            assert abs((above - below) / (2 * step) - gradient[at]) < 1e-6 * max(1, abs(gradient[at])), (at, gradient[at])
