"""Steps of several GPUs: neon's on one and on several, the one that `neon program --devices` computes, and PyTorch's
DistributedDataParallel. Rows go to devices.jsonl."""
import datetime
import statistics

from benchmarks import rows
from benchmarks.programs import BenchError, neon_step, run, started_peers, words_of
from peers.specs import NETS

PLANS = {"data": "", "model": "dense: model", "model-b": "dense: model, scheme: b", "model-c": "dense: model, scheme: c",
         "pairs": "dense: pairs", "sharded": "optimizer: sharded"}


def keys_of(plan):
    return ["--set", f"parallel={{{PLANS[plan]}}}"] if PLANS[plan] else []


def computed(neon, spec, batch, type_, count, weak, plan):
    """Milliseconds of the step on so many devices, as the simulation has it; of the row that begins with their number."""
    each = ["--each"] if weak else []
    output, _ = run([neon, "program", *words_of(spec, batch, type_, True), "--devices", count, *each, *keys_of(plan)])
    for line in output.splitlines():
        words = line.split()
        if words[:1] == [str(count)]:
            return float(words[2])
    raise BenchError(f"neon program printed no row of {count} devices:\n{output}")


def measure(args, python, net, type_, count):
    """The rows of one net, type and number of GPUs, one for each plan: every program once a round, in turn. With weak scaling
    the net's batch is that of each GPU, else that of all."""
    weak, plans = args.scaling == "weak", args.plans.split(",")
    spec, given = NETS[net].spec, args.batch or NETS[net].batch
    batch = given * count if weak else given
    if batch % count:
        raise BenchError(f"a batch of {batch} has no equal shares for {count} GPUs; give another by --batch")
    timed = lambda batch, more: neon_step(args.neon, spec, batch, type_, True, args.threads, args.iterations, more=more)
    alone, together, of_peers = [], {plan: [] for plan in plans}, {}
    peers = started_peers(args.modes.split(","), f"{net} {type_} on {count} GPUs", python=python, net=net, type_=type_, gpu=True,
                          batch=batch // count, threads=args.threads, devices=count)
    try:
        for _ in range(args.rounds):
            alone.append(timed(given, [])[0])
            for plan in plans:
                milliseconds, device, _ = timed(batch, ["-m", str(count), *keys_of(plan)])
                together[plan].append(milliseconds)
            for peer in peers:
                result = peer.measure()
                of_peers.setdefault(peer.mode, []).append(result["ms"])
    finally:
        for peer in peers:
            peer.close()
    for plan in plans:
        yield rows.make_row(
            rows.OF_DEVICES, net=net, type=type_, device=device.split(" of ", 1)[-1], devices=count, scaling=args.scaling, plan=plan, batch=batch,
            neon_ms=round(statistics.median(together[plan]), 4), alone_ms=round(statistics.median(alone), 4),
            computed_ms=computed(args.neon, spec, given, type_, count, weak, plan),
            modes={mode: round(statistics.median(times), 4) for mode, times in of_peers.items()},
            peer="PyTorch " + result["torch"].split("+")[0], commit=args.commit, date=str(datetime.date.today()),
            command=f"tools/bench devices --nets {net} --types {type_} --counts {count} --scaling {args.scaling} --plans {args.plans} --modes {args.modes} --rounds {args.rounds}"
                    + (f" --batch {args.batch}" if args.batch else ""))
