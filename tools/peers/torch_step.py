#!/usr/bin/env python3
"""Times one whole training step in PyTorch: forward, backward and the optimizer. The peer of tools/bench. Of a net
whose outputs alone are asked for (NAME-outputs-BATCH), it times the module in evaluation mode.

  tools/peers/torch_step.py --net alexnet --type f16 --device cuda --mode graph

Prints one JSON line: net, type, device, batch, mode, milliseconds of a step (a median), peak memory in MiB. With
--wait the program prepares once and then measures once for each line that it reads, so that another program can take
turns with it.

Everything favours PyTorch. The batch lies on the device already, where neon gathers and converts each batch inside its
step. Images are channels_last; volumes have the layout that is faster here. cudnn.benchmark chooses the algorithms, the
optimizer is fused. 16 bits are autocast without a gradient scaler, where neon scales the loss and looks for overflow.
"""
import argparse
import inspect
import json
import resource
import statistics
import sys
import time

import torch
from torch import nn

import modern
import nets
import normed
import ranks
import sequences
from specs import NETS

CONVNETS = {**nets.MAKE, **normed.MAKE, **modern.MAKE}
MAKE = {**CONVNETS, **sequences.MAKE}
AUTOCAST = {"f32": None, "tf32": None, "f16": torch.float16, "bf16": torch.bfloat16}
MODES = {
    "eager": "as a user writes it",
    "graph": "the eager step, captured as a CUDA graph and replayed",
    "compile": "torch.compile of forward and cost",
    "reduce-overhead": "torch.compile with mode reduce-overhead",
    "frozen": "of outputs: traced, frozen and optimized by torch.jit",
}
SHORTEST_MS = 10  # work that is timed at once lasts this long; neon bench does the same
LEAST_TIMINGS, ENOUGH_MS = 5, 4000  # of a measurement; long steps are timed less often


def optimizer_of(net, parameters):
    kind = getattr(torch.optim, net.optimizer)
    options = {"lr": net.rate, "weight_decay": net.decay}
    if net.optimizer == "SGD":
        options["momentum"] = 0.9
    if "fused" in inspect.signature(kind).parameters:
        options["fused"] = True
    parameters = list(parameters)
    if "capturable" in inspect.signature(kind).parameters:  # a CUDA graph holds its count of steps, too
        options["capturable"] = parameters[0].is_cuda
    return kind(parameters, **options)


def layouts_of(name):
    """The layouts of memory to choose from, of the arrays that have as many axes as the inputs."""
    name = NETS[name].of or name
    if name in CONVNETS and len(NETS[name].sample) == 4:
        return [torch.channels_last_3d, torch.contiguous_format]
    return [torch.channels_last if name in CONVNETS else torch.contiguous_format]


def drawn_batch(net, batch, device, layout):
    """Inputs and labels."""
    labelled = net.sample[:1] if net.each_step else net.sample[1:] if net.each_pixel else ()
    labels = torch.randint(0, net.classes, (batch, *labelled), device=device)
    if net.tokens:
        return torch.randint(0, net.tokens, (batch, *net.sample), device=device), labels
    inputs = torch.rand(batch, *net.sample, device=device)
    return inputs.to(memory_format=layout), labels


def make_outputs(args, layout, mode):
    """A function that computes the outputs of one batch. Gradients are off, and batch norm has its running statistics."""
    described = NETS[args.net]
    module = MAKE[described.of]().to(args.device).to(memory_format=layout).eval()
    inputs, _ = drawn_batch(described, args.batch, args.device, layout)
    autocast = AUTOCAST[args.type]

    def outputs(module):
        with torch.no_grad(), torch.autocast(args.device, dtype=autocast or torch.bfloat16, enabled=autocast is not None):
            return module(inputs)

    if mode == "frozen":
        with torch.no_grad():
            module = torch.jit.optimize_for_inference(torch.jit.trace(module, inputs))
    elif mode == "compile":
        module = torch.compile(module)
    elif mode == "reduce-overhead":
        module = torch.compile(module, mode="reduce-overhead")
    return lambda: outputs(module)


def make_step(args, layout, mode):
    """A function that trains by one batch, or computes its outputs."""
    if NETS[args.net].of:
        return make_outputs(args, layout, mode)
    if mode == "frozen":
        raise ValueError("frozen weights are not trained")
    described = NETS[args.net]
    module = MAKE[args.net]().to(args.device).to(memory_format=layout)
    inputs, labels = drawn_batch(described, args.batch, args.device, layout)
    optimizer = optimizer_of(described, module.parameters())
    autocast = AUTOCAST[args.type]
    module = ranks.shared(module, autocast)

    def cost():
        with torch.autocast(args.device, dtype=autocast or torch.bfloat16, enabled=autocast is not None):
            outputs = module(inputs).float()
        if described.each_pixel:  # (N,K,H,W), with labels (N,H,W)
            return nn.functional.cross_entropy(outputs, labels)
        return nn.functional.cross_entropy(outputs.flatten(0, -2), labels.flatten())

    if mode == "compile":
        cost = torch.compile(cost)
    elif mode == "reduce-overhead":
        cost = torch.compile(cost, mode="reduce-overhead")

    def step():
        if mode == "reduce-overhead":
            torch.compiler.cudagraph_mark_step_begin()
        optimizer.zero_grad(set_to_none=True)
        cost().backward()
        optimizer.step()

    return step


def warm_up(step, device):
    """A CUDA graph can be captured only after the step ran on a stream other than the default one."""
    if device == "cpu":
        for _ in range(3):
            step()
        return
    stream = ranks.side_stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(11 if ranks.COUNT > 1 else 5):  # DistributedDataParallel makes its buckets anew in the first ones
            step()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()


def captured(step):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=ranks.side_stream()):
        step()
    return graph.replay


def milliseconds(step, count, device):
    before = time.perf_counter()
    for _ in range(count):
        step()
    if device == "cuda":
        torch.cuda.synchronize()
    return ranks.slowest(1000 * (time.perf_counter() - before))


def measure(step, args):
    """The median time of a step. Short steps are timed several at once, since a GPU works ahead of the host."""
    together = 1
    while args.device == "cuda" and together < 64 and milliseconds(step, together, args.device) < SHORTEST_MS:
        together *= 2
    milliseconds(step, 2 * together, args.device)
    times = []  # those of the slowest rank, so that all ranks time as many
    while len(times) < min(args.steps, LEAST_TIMINGS) or (len(times) < args.steps and sum(times) < ENOUGH_MS):
        times.append(milliseconds(step, together, args.device))
    return statistics.median(times) / together


def fastest_layout(args):
    """Where there is a choice, that of the eager step."""
    choices = layouts_of(args.net)
    if len(choices) == 1:
        return choices[0]
    times = []
    for layout in choices:
        step = make_step(args, layout, "eager")
        warm_up(step, args.device)
        times.append(measure(step, args))
    if args.device == "cuda":  # their memory does not count
        del step
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    return choices[times.index(min(times))]


def peak_mib(device):
    """On a GPU what PyTorch's allocator gave out, without the context and what the libraries hold for themselves."""
    if device == "cuda":
        return torch.cuda.max_memory_allocated() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", choices=NETS, required=True)
    parser.add_argument("--type", choices=AUTOCAST, default="f32")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--mode", choices=MODES, default="eager", help=str(MODES))
    parser.add_argument("--batch", type=int, help="samples of a step (the spec's)")
    parser.add_argument("--steps", type=int, default=30, help="most timings, of which the median is printed (30)")
    parser.add_argument("--threads", type=int, default=2, help="threads of a CPU (2)")
    parser.add_argument("--wait", action="store_true", help="measure once for each line of stdin")
    args = parser.parse_args()
    args.batch = args.batch or NETS[args.net].batch
    if args.device == "cpu" and (args.mode in ("graph", "reduce-overhead") or args.type in ("tf32", "f16")):
        parser.error(f"--mode {args.mode} --type {args.type} needs --device cuda")
    return args


def main():
    args = arguments()
    torch.manual_seed(0)
    torch.set_num_threads(args.threads)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = args.type == "tf32"
    result = {"net": args.net, "type": args.type, "device": args.device, "batch": args.batch, "mode": args.mode,
              "torch": torch.__version__}
    result["device_name"] = torch.cuda.get_device_name() if args.device == "cuda" else f"{args.threads} threads"
    try:
        ranks.join()
        step = make_step(args, fastest_layout(args), args.mode)
        warm_up(step, args.device)
        if args.mode == "graph":
            step = captured(step)
        for _ in sys.stdin if args.wait else [""]:
            print(json.dumps({**result, "ms": measure(step, args), "peak_mib": peak_mib(args.device)}), flush=True)
        ranks.leave()
    except Exception as error:  # a mode that this PyTorch lacks is a result, too
        reason = (str(error).splitlines() or [""])[0][:200]
        print(json.dumps({**result, "failed": f"{type(error).__name__}: {reason}"}), flush=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
