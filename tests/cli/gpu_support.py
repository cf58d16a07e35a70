"""What the tests of a GPU share: stand-ins for the driver and CUDA's libraries (tests/backends/device), and nets."""
import json
import os

import damage_test
import support

FAKES = os.environ["FAKE_GPU"]
CUDA, CUDNN = os.environ["CUDA_MAJOR"], os.environ["CUDNN_MAJOR"]

MLP = """\
dataset: {UniformRandom: {ntrain: 2048, ntest: 512, nin: [784], nout: 10}}
layers:
  - Affine: {nout: 100, init: {Gaussian: {scale: 0.05}}, activation: Rectlin}
  - Affine: {nout: 10, init: {Gaussian: {scale: 0.05}}, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0.9}}
batch_size: 2048
epochs: 1
"""
UNTESTED = MLP.replace("ntest: 512", "ntest: 0")  # evaluations take the first algorithm
SMALL = support.IRIS  # whose products are kernels of neon's own
CONVOLUTION = MLP.replace("[784]", "[3, 8, 8]").replace(
    "layers:\n", "layers:\n  - Conv: {fshape: 3, padding: 1, nofm: 8, init: Kaiming, activation: Rectlin}\n")
DIVERGED = 5  # kernels that do nothing leave the flag "finite" at 0, so a run that begins ends like this


class Case(support.Case):
    def gpu(self, *missing, driver="fake_cuda"):
        """The environment of a machine with a GPU, of whose libraries some are missing."""
        folder = self.path("gpu")
        os.makedirs(folder, exist_ok=True)
        for library, fake in {"libcuda.so.1": driver, f"libnvrtc.so.{CUDA}": "fake_nvrtc",
                              f"libcublasLt.so.{CUDA}": "fake_cublaslt", f"libcudnn.so.{CUDNN}": None}.items():
            plain = library[:library.index(".so") + 3]
            if fake is None or plain in missing:
                for name in library, plain:  # what is found before the machine's own, and cannot be opened
                    open(os.path.join(folder, name), "w").close()
            else:
                os.symlink(os.path.join(FAKES, fake + ".so"), os.path.join(folder, library))
        self.environment["LD_LIBRARY_PATH"] = folder

    def in_position(self, checkpoint, **changes):
        """Changes where a checkpoint stands; None takes a key out, as older neons had it not."""
        content = self.read(checkpoint)
        end = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:end])
        position = json.loads(header["__metadata__"]["neon.position"]) | changes
        header["__metadata__"]["neon.position"] = json.dumps({key: value for key, value in position.items() if value is not None})
        self.write(checkpoint, damage_test.sealed(header, content[end:]))

    def notes(self, result):
        return [line for line in result.err.splitlines() if line.startswith("note: ")]
