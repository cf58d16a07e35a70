#!/usr/bin/python3
"""eval, predict and sample: keys of --set that change nothing for them, each refused."""
import support
from support import IRIS, Case


class HeededKeys(Case):
    def test_keys_that_a_verb_does_not_heed(self):
        self.neon("-r", "4", "-s", "m.safetensors", self.spec())
        self.write("x.csv", "5,3,1,0.2\n6,3,5,2\n")
        of_training = ("optimizer.learning_rate=0.5", "epochs=3", "callbacks=[EarlyStop]", "freeze=[Affine_0]", "train_metrics=3", "predictions=[test]",
                       "shuffle=false", "sampling=balanced", "accumulate=2", "class_weights=balanced", "parallel.batch_norm=all", "ema=0.5", "buckets=3",
                       "layers[0].init=Gaussian", "layers.Affine_1.init={Constant: 1}")
        of_eval = ("metrics=[TopKMisclassification: {k: 2}]", "batchsize=4", "rng_seed=3", "backend=cpu", "cost=MeanSquared", "dataset=Iris",
                   "reset_period=2", "normalize=true")
        for verb, names, keys in (["eval"], ["m.safetensors"], of_training), (["predict"], ["m.safetensors", "x.csv"], of_training + of_eval), \
                (["sample"], ["m.safetensors"], of_training + of_eval + ("dataset.test=20",)):
            for key in keys:
                name = key.split("=")[0].replace("batchsize", "batch_size")
                name = name if name.startswith("dataset") else name.split(".")[0].split("[")[0]
                self.refused(2, *verb, *names, "--set", key, says=f"--set {name} changes nothing for neon {verb[0]}")
        for key in "dataset.validation=0.2", "dataset.subset_pct=50":
            self.refused(2, "eval", "m.safetensors", "--set", key, says=f"--set {key.split('=')[0]} changes nothing for neon eval")
        self.refused(2, "eval", "m.safetensors", "--set", "cost.scale=2", says="--set cost.scale changes nothing for neon eval; it is a factor of the gradient")
        # The values of the run change nothing, and datatype changes the numbers.
        same = ["--set", "optimizer.learning_rate=1e-1", "--set", "batchsize=16", "--set", "epochs=4"]
        self.assertEqual(self.neon("predict", "m.safetensors", "x.csv", *same).out, self.neon("predict", "m.safetensors", "x.csv").out)
        self.neon("eval", "m.safetensors", "--set", "metrics=[TopKMisclassification: {k: 2}]", "--set", "batchsize=4", *same[:2])
        self.neon("predict", "m.safetensors", "x.csv", "--set", "datatype=f64")

    def test_parts_of_layers_that_training_alone_heeds(self):
        spec = "\n".join(line for line in IRIS.splitlines() if not line.startswith("  - "))
        self.write("s.yaml", spec.replace("layers:", "layers: [Affine: {nout: 8, init: Kaiming, activation: RReLU}, BatchNorm, GaussianNoise: {sigma: 0.1}, "
                   "Dropout: {keep: 0.9}, Affine: {name: end, nout: 3, init: Kaiming, activation: Softmax}]"))
        self.neon("-r", "1", "-s", "m", "s.yaml")
        self.write("x.csv", "5,3,1,0.2\n6,3,5,2\n")
        for verb in ["eval", "m"], ["predict", "m", "x.csv"]:
            former = self.neon(*verb).out
            for given, path in (("layers[1].rho=0.5", "layers[1].rho"), ("layers.BatchNorm.rho=0.5", "layers[1].rho"),
                                ("layers[2].sigma=2", "layers[2].sigma"), ("layers[2].deviation=2", "layers[2].deviation"), ("layers[2]={GaussianNoise: {sigma: 3}}", "layers[2]"),
                                ("layers.end.init=GlorotUniform", "layers")):
                self.refused(2, *verb, "--set", given, says=f"--set {path} changes nothing for neon {verb[0]}; ")
            self.refused(2, *verb, "--set", "layers[1].eps=0.1", "--set", "layers[1].rho=0.5",
                         says=f"--set layers[1].rho changes nothing for neon {verb[0]}; its results are the same without this; leave it out")
            # The run's own values, and what counts.
            self.assertEqual(self.neon(*verb, "--set", "layers[1].rho=0.9", "--set", "layers[2].sigma=1e-1").out, former)
            for change in "layers[1].eps=0.1", "layers[3].keep=0.5", "layers[0].activation=Tanh":
                self.assertNotEqual(self.neon(*verb, "--set", change).out, former, change)


if __name__ == "__main__":
    support.main()
