"""Several GPUs in PyTorch: a process for each, which the variables of torchrun tell its place, and gradients that
DistributedDataParallel adds up over them, in the type in which neon adds them up."""
import functools
import os

import torch

COUNT = int(os.environ.get("WORLD_SIZE", 1))
if COUNT > 1:
    import torch.distributed
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks


@functools.cache
def side_stream():
    """The stream on which a module is wrapped, warmed up and captured: gradients are kept for that of their first step."""
    return torch.cuda.Stream()


def join():
    """Takes this process's place and its GPU."""
    if COUNT > 1:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))


def leave():
    if COUNT > 1:
        torch.distributed.destroy_process_group()


def shared(module, autocast):
    """The module, whose gradients are means over the GPUs. A CUDA graph can hold it only if it is made on a stream of its own."""
    if COUNT == 1:
        return module
    stream = side_stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        module = torch.nn.parallel.DistributedDataParallel(module, device_ids=[torch.cuda.current_device()],
                                                           gradient_as_bucket_view=True)
    torch.cuda.current_stream().wait_stream(stream)
    if autocast:
        hook = default_hooks.fp16_compress_hook if autocast == torch.float16 else default_hooks.bf16_compress_hook
        module.register_comm_hook(None, hook)
    return module


def slowest(milliseconds):
    """The time of the slowest process; all of them come here together."""
    if COUNT == 1:
        return milliseconds
    time = torch.tensor(milliseconds, device="cuda", dtype=torch.float64)
    torch.distributed.all_reduce(time, torch.distributed.ReduceOp.MAX)
    return time.item()
