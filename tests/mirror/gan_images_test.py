#!/usr/bin/python3
"""Adversarial nets of images in f64 against the same trainings in NumPy with the same draws. They are DCGAN and WGAN as in
examples/gan, with fewer maps: images of 28x28, both players' costs for 20 steps, and their weights after these.

    gan_images_test.py      NEON is the program
"""
import json
import pathlib
import sys

import h5py
import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import support
from convnet import Net, first, last, rows
from draws import uniforms
from rules import Rule
from tape import Var, elementwise, logistic, tanh

SEED, BATCH, STEPS = 7, 4, 20


def leaky(slope):
    return {"Rectlin": {"slope": slope}}


def convolution(name, maps, size=4, **more):
    return {"Conv": {"name": name, "fshape": [size, size, maps], "strides": 2, "padding": 1, **more}}


def deconvolution(name, maps, **more):
    return {"Deconv": {"name": name, "fshape": [4, 4, maps], "strides": 2, "padding": 1, **more}}


DCGAN = {"noise": [2, 7, 7],
         "generator": [convolution("g0", 5, 3, strides=1, batch_norm=True, activation="Rectlin"),
                       deconvolution("g1", 4, batch_norm=True, activation="Rectlin"), deconvolution("g2", 1, activation="Tanh")],
         "discriminator": [convolution("d0", 3, activation=leaky(0.1)), convolution("d1", 5, batch_norm=True, activation=leaky(0.1)),
                           {"Affine": {"name": "d2", "nout": 1, "activation": "Logistic"}}]}
WGAN = {"noise": [6],
        "generator": [{"Affine": {"name": "g0", "nout": 4 * 49, "batch_norm": True, "activation": "Rectlin"}},
                      {"Reshape": {"reshape": [4, 7, 7]}}, deconvolution("g1", 3, batch_norm=True, activation="Rectlin"),
                      deconvolution("g2", 1, activation="Tanh")],
        "discriminator": [convolution("d0", 3, activation=leaky(0.2)), convolution("d1", 4, batch_norm=True, activation=leaky(0.2)),
                          {"Affine": {"name": "d2", "nout": 1}}]}


class Player(Net):
    def __init__(self, layers, seed):
        super().__init__(np.random.RandomState(seed))
        self.layers = layers

    def activated(self, activation, x, name=""):
        if activation in ("Tanh", "Logistic"):
            return (tanh if activation == "Tanh" else logistic)(x)
        if activation == "Identity":
            return x
        slope = 0 if activation == "Rectlin" else activation["Rectlin"]["slope"]
        return elementwise(x, np.where(x.value > 0, x.value, slope * x.value), np.where(x.value > 0, 1, slope))

    def play(self, x, keeps):
        """`keeps`: the running statistics follow."""
        before = dict(self.states)
        y = self.run(self.layers, x)
        if not keeps:
            self.states.update(before)
        return y

    def update(self, rule, count):
        gradients = {name: self.vars[name].grad for name in self.weights}
        self.weights = rule.update(self.weights, gradients, rule.base_rate(), count, 0)


class Game:
    def __init__(self, net, rule, optimizer):
        self.made, self.judge = Player(net["generator"], 3), Player(net["discriminator"], 4)
        self.shape = net["noise"] if len(net["noise"]) == 1 else [*net["noise"][1:], net["noise"][0]]
        self.wasserstein, self.rule = rule["func"] == "wasserstein", rule
        self.rules = Rule(optimizer), Rule(optimizer)

    def begin(self, step, keeps):
        self.made.begin(True)
        self.judge.begin(True)
        u, v = (uniforms(SEED, "gan/" + name, step, (BATCH, *self.shape)) for name in ("noise", "angle"))
        return self.made.play(Var(np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v)), keeps)

    def judge_step(self, images, step, moves):
        made = self.begin(step, False)
        of_made = rows(first(self.judge.play(Var(last(made).value), True)))
        of_real = rows(first(self.judge.play(Var(images), True)))
        d, r = of_made.value, of_real.value
        # One sum, so that one pass backward gives the gradients of both.
        if self.wasserstein:
            cost, slopes = (r - d).mean(), (-np.ones_like(d), np.ones_like(r))
        else:
            cost, slopes = (-np.log(r) - np.log(1 - d)).mean(), (1 / (1 - d), -1 / r)
        both = Var(0, (of_made, of_real), lambda g: (slopes[0] * g / BATCH, slopes[1] * g / BATCH))
        both.backward(1)
        self.judge.update(self.rules[0], moves)
        if clamp := self.rule.get("wgan_param_clamp"):
            self.judge.weights = {name: np.clip(w, -clamp, clamp) for name, w in self.judge.weights.items()}
        return cost

    def made_step(self, step, moves):
        d = rows(first(self.judge.play(self.begin(step, True), False)))
        cost, slope = (d.value.mean(), np.ones_like(d.value)) if self.wasserstein else (-np.log(d.value).mean(), -1 / d.value)
        d.backward(slope / BATCH)
        self.made.update(self.rules[1], moves)
        return cost


class AdversarialImages(support.Case):
    def close(self, got, expected, name, most):
        self.assertLess(np.abs(got - expected).max() / max(1e-3, np.abs(expected).max()), most, name)

    def test_20_steps_are_those_of_the_formulas(self):
        images = np.tanh(np.random.RandomState(2).randn(BATCH * 5, 1, 28, 28)).astype(np.float32)
        np.savez(self.path("d.npz"), x_train=images, x_test=images[:3])
        for net, rule, optimizer in ((DCGAN, {"func": "modified"}, {"Adam": {"learning_rate": 0.0005, "beta_1": 0.5}}),
                                     (WGAN, {"func": "wasserstein", "k": 4, "wgan_param_clamp": 0.01},
                                      {"RMSProp": {"learning_rate": 0.0002, "decay_rate": 0.99}})):
            with self.subTest(rule=rule):
                game, k, judged, made = Game(net, rule, optimizer), rule.get("k", 1), [], {}
                game.begin(0, False)  # draws the weights, which the layers of the spec have from then on
                game.judge.play(Var(images[:1].transpose(0, 2, 3, 1)), False)
                for player in game.made, game.judge:
                    player.begin_again()
                self.write("s.yaml", json.dumps({
                    "dataset": {"NPZ": {"path": "d.npz", "y_train": "", "y_test": ""}}, "rule": {"Adversarial": rule},
                    "layers": [{"GenerativeAdversarial": {"name": "gan", **net}}], "optimizer": optimizer, "batch_size": BATCH,
                    "epochs": 4, "shuffle": False, "datatype": "f64"}))
                self.neon("-r", str(SEED), "-s", "m.safetensors", "-o", "r.h5", "s.yaml")
                for step in range(STEPS):
                    x = images[step % 5 * BATCH:][:BATCH].astype(float).transpose(0, 2, 3, 1)
                    judged.append(game.judge_step(x, step, step + 1))
                    if (step + 1) % k == 0:
                        made[step] = game.made_step(step, len(made) + 1)
                with h5py.File(self.path("r.h5")) as file:
                    self.close(file["cost/train"][:], np.array(judged), "the discriminator's curve", 1e-6)  # kept in f32
                    curve = file["cost/generator"][:]
                    self.assertEqual(np.flatnonzero(~np.isnan(curve)).tolist(), sorted(made))
                    self.close(curve[sorted(made)], np.array([made[i] for i in sorted(made)]), "the generator's curve", 1e-6)
                found = support.tensors(self.path("m.safetensors"))[0]
                for player in game.made, game.judge:
                    for name, values in {**player.weights, **player.states}.items():
                        self.close(np.frombuffer(found[name][2]), values.ravel(), name, 1e-9)


if __name__ == "__main__":
    support.main()
