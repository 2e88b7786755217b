"""Times of launches: a model's steps, PyTorch's, and the table of both."""

import itertools
import statistics

import torch

import torch_step
from model import free_memory
from steps import Steps, cache_bytes, pages_for, stream

WARM_UP = 10  # launches
LONG = 500    # milliseconds: where launches would take longer together, they are fewer
FEWEST = 5    # that a median is of, however long they take
SHARE = 0.95  # of the GPU's memory, for weights and caches


def median(launch, repeats):
    """Milliseconds of a launch on the current stream, queued one behind another as decoding does."""

    def timed(count):
        timers = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(count)]
        for begin, end in timers:
            begin.record()
            launch()
            end.record()
        torch.cuda.synchronize()
        return [begin.elapsed_time(end) for begin, end in timers]

    room = int(LONG / max(timed(2)[-1], 1e-3))
    count = min(repeats, max(FEWEST, room))
    return statistics.median(timed(min(WARM_UP, max(2, room // 2)) + count)[-count:])


def times(model, program, requests, schedules, repeats, hows=("greedy",)):
    """(schedule, how tokens are chosen, milliseconds) of each pair. `requests`: how many new tokens each has, and how many
    positions with them."""
    steps = Steps(model, program, sum(pages_for(positions) for _, positions in requests))
    steps.fill()
    batch = [([(7 * r + 3 * i) % model.vocabulary for i in range(new)], positions - new, steps.take(positions))
             for r, (new, positions) in enumerate(requests)]
    for schedule, how in itertools.product(schedules, hows):
        values = steps.arguments(batch, how)
        torch.cuda.synchronize()
        with torch.cuda.stream(stream()):
            ms = median(lambda: program.enqueue(values, stream().cuda_stream, schedule), repeats)
        assert not values["logits"].isnan().any()
        yield schedule, how, ms


class Table:
    """Rows of a Markdown table, in the file as soon as they are known."""

    def __init__(self, path, compiled):
        self.file, self.peers = path.open("w"), ["PyTorch"] + ["compiled"] * compiled
        titles = ["batch", "context", "schedule", "ms", "share of the bound", "PyTorch, ms", "ratio"]
        titles += ["torch.compile, ms", "ratio"] if compiled else []
        self.write(titles)
        self.write(["---"] * len(titles))

    def write(self, cells):
        print(f"| {' | '.join(cells)} |", file=self.file, flush=True)

    def row(self, batch, context, schedule, ms, bound, theirs):
        cells = [str(batch), str(context), schedule, f"{ms:.3f}", f"{100 * bound / ms:.1f} %"]
        for name in self.peers:
            cells += [f"{theirs[name]:.3f}", f"{theirs[name] / ms:.2f}"] if theirs.get(name) else ["", ""]
        self.write(cells)


def time_points(model, program, options, schedules):
    """Every batch with every context, where weights and cache fit; PyTorch's weights stay while there is room for them."""
    table = Table(options.table, options.compiled) if options.table else None
    modes = {"PyTorch": None} if options.peer or options.table else {}
    modes |= {"compiled": options.compile_mode} if options.compiled else {}
    peer, most = None, SHARE * torch.cuda.mem_get_info()[1]

    def fits(name, needed):
        if needed > most:
            print(f"{name} left out: {needed / 1e9:.1f} GB, there is room for {most / 1e9:.1f}", flush=True)
        return needed <= most

    for batch, context in itertools.product(options.batch, options.context):
        point, theirs, ours = f"  batch {batch:3} context {context:5}", {}, []
        needed = model.bytes + cache_bytes(model, batch * pages_for(context))
        if not fits(point, needed):
            continue
        if needed + model.bytes > most:
            peer = None
        free_memory()
        bound = (model.weight_bytes + 4 * batch * context * model.kv * model.head * model.layers) / options.limit / 1e9
        for schedule, how, ms in times(model, program, [(1, context)] * batch, schedules, options.repeats, options.sampling):
            print(f"{point} {schedule:8} {how:8} {ms:8.4f} ms  {100 * bound / ms:5.1f} % of the bound {bound:.4f}", flush=True)
            ours.append((schedule if how == "greedy" else f"{schedule}, {how}", ms))
        for name, mode in modes.items():
            free_memory()
            if not fits(f"{point} {name:8}", model.bytes + torch_step.Peer.needed(model, batch, context)):
                continue
            try:
                peer = peer or torch_step.Peer(model)
                theirs[name] = median(peer.new_tokens(batch, context, mode), options.repeats)
                print(f"{point} {name:8} {theirs[name]:8.4f} ms", flush=True)
            except RuntimeError as error:  # no memory, or no compiler: our times are kept
                first, *_ = str(error).strip().split("\n")
                print(f"{point} {name:8} failed: {first}", flush=True)
        for schedule, ms in ours if table else []:
            table.row(batch, context, schedule, ms, bound, theirs)


def time_prompts(model, program, options, schedules):
    """A prompt in one step, of which the last token's logits are wanted."""
    peer = torch_step.Peer(model) if options.peer and options.prefill else None
    for tokens in options.prefill:
        for schedule, _, ms in times(model, program, [(tokens, tokens)], schedules, options.repeats):
            rate = 2 * tokens * (model.weight_bytes / 2 - model.vocabulary * model.d) / ms / 1e9
            print(f"  prefill {tokens:5} {schedule:8} {ms:8.3f} ms  {rate:6.1f} TFLOP/s in products", flush=True)
        if peer:
            print(f"  prefill {tokens:5} PyTorch  {median(peer.prompt(tokens), options.repeats):8.3f} ms", flush=True)


def time_mixed(model, program, options, schedules):
    """A chunk of a prompt beside a batch of new tokens, and both by themselves."""
    chunk, batch, context = options.mixed
    kinds = {"both": [(chunk, chunk)] + [(1, context)] * batch, "chunk": [(chunk, chunk)], "batch": [(1, context)] * batch}
    for schedule in schedules:
        ms = {kind: next(times(model, program, requests, [schedule], options.repeats))[2] for kind, requests in kinds.items()}
        print(f"  {chunk} tokens of a prompt and {batch} new ones, context {context}, {schedule:8} {ms['both']:8.3f} ms; by "
              f"themselves {ms['chunk']:.3f} and {ms['batch']:.3f}", flush=True)
