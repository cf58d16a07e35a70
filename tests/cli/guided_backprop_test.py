#!/usr/bin/python3
"""GuidedBackprop against plain loops in NumPy: the image that each map responds to most, and what leads back to it."""
import numpy as np

from support import IRIS, Case, main, png_pixels, tensors

SPEC = """\
dataset: {NPZ: {path: d.npz}}
layers:
  - Conv: {name: one, fshape: 3, nofm: 4, padding: 1, init: {Gaussian: {scale: 0.5}}, bias: {Uniform: {low: -1, high: 1}}, activation: Rectlin}
  - Conv: {name: two, fshape: 3, nofm: 3, strides: 2, init: {Gaussian: {scale: 0.5}}, bias: {Uniform: {low: -1, high: 1}}, activation: Rectlin}
  - Affine: {nout: 2, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {GradientDescentMomentum: {learning_rate: 0.1}}
batch_size: 4
epochs: 2
metrics: []
callbacks: [GuidedBackprop: {dataset_pct: 100}]
"""
SIDE = 7


def windows(x, w, padding, stride, back=None):
    """Maps of x (H,W,C) by filters w (K,R,S,C); or of `back` (P,Q,K), what it leads back to x."""
    padded = np.pad(x, ((padding, padding), (padding, padding), (0, 0)))
    size = (padded.shape[0] - 3) // stride + 1
    y, dx = np.zeros((size, size, len(w))), np.zeros_like(padded)
    for p in range(size):
        for q in range(size):
            at = slice(p * stride, p * stride + 3), slice(q * stride, q * stride + 3)
            y[p, q] = np.tensordot(w, padded[at], 3)
            if back is not None:
                dx[at] += np.tensordot(back[p, q], w, 1)
    return y if back is None else dx[padding:dx.shape[0] - padding or None, padding:dx.shape[1] - padding or None]


class Guided(Case):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(2)
        self.x = rng.normal(size=(16, 3, SIDE, SIDE)).astype("f4")
        self.test = rng.normal(size=(11, 3, SIDE, SIDE)).astype("f4")
        np.savez(self.path("d.npz"), x_train=self.x, y_train=np.arange(16, dtype="i4") % 2, x_test=self.test,
                 y_test=np.arange(11, dtype="i4") % 2)

    def net(self):
        stored = tensors(self.path("m"))[0]
        get = lambda name: np.frombuffer(stored[name][2]).reshape(stored[name][1])
        return [(get(name + "/W").reshape(-1, 3, 3, channels) if get(name + "/W").ndim != 4 else get(name + "/W"),
                 get(name + "_bias/b"), padding, stride)
                for name, channels, padding, stride in (("one", 3, 1, 1), ("two", 4, 0, 2))]

    def maps(self, x, layers):
        """What each layer takes, and the last one's maps."""
        taken = []
        for w, b, padding, stride in layers:
            taken.append(x)
            x = np.maximum(windows(x, w, padding, stride) + b, 0)
        return taken, x

    def expected(self, layers, images):
        out = []
        every = [self.maps(x, layers) for x in images]
        for k in range(len(layers[-1][0])):
            sample = int(np.argmax([y[..., k].max() for _, y in every]))
            taken, y = every[sample]
            signal = np.zeros_like(y)
            signal[(*np.unravel_index(np.argmax(y[..., k]), y.shape[:2]), k)] = 1
            for (w, b, padding, stride), x in zip(layers[::-1], taken[::-1]):
                active = windows(x, w, padding, stride) + b > 0
                signal = windows(x, w, padding, stride, np.maximum(signal, 0) * active)
            for picture in signal, images[sample]:
                out.append((picture - picture.min()) / (picture.max() - picture.min()) * 255)
        return out

    def compare(self, name, layers, images):
        sheet = png_pixels(self.read(name)).astype("f8")
        for i, picture in enumerate(self.expected(layers, images)):
            top, left = 2 + i // 8 * (SIDE + 2), 2 + i % 8 * (SIDE + 2)
            np.testing.assert_allclose(sheet[top:top + SIDE, left:left + SIDE], picture, atol=0.51, err_msg=f"{name} {i}")

    def test_pictures_of_both_layers(self):
        err = self.neon("-r", "3", "-d", "f64", "-s", "m", self.spec(SPEC)).err
        self.assertIn("wrote guided_one.png", err)
        layers, images = self.net(), self.test.transpose(0, 2, 3, 1).astype("f8")
        self.compare("guided_one.png", layers[:1], images)
        self.compare("guided_two.png", layers, images)

    def test_a_share_of_the_images_and_few_maps(self):
        self.neon("-r", "3", "-d", "f64", "-s", "m", self.spec(SPEC, callbacks="[GuidedBackprop: {dataset_pct: 50, max_fm: 1}]"))
        layers, images = self.net(), self.test.transpose(0, 2, 3, 1).astype("f8")[:6]
        layers[0] = (layers[0][0][:1], layers[0][1][:1], *layers[0][2:])
        self.compare("guided_one.png", layers[:1], images)
        self.assertEqual(png_pixels(self.read("guided_one.png")).shape[:2], (SIDE + 4, 2 * (SIDE + 2) + 2))

    def test_what_does_not_fit(self):
        self.refused(2, self.spec(IRIS, callbacks="[GuidedBackprop]"), says="GuidedBackprop: the net has no convolution of images")
        np.savez(self.path("d.npz"), x_train=self.x, y_train=np.arange(16, dtype="i4") % 2)
        self.assertIn("GuidedBackprop draws nothing: the data set has no validation or test samples", self.neon(self.spec(SPEC)).err)


if __name__ == "__main__":
    main()
