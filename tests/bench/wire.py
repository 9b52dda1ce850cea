#!/usr/bin/env python3
"""wire.py DATA TOKENIZER [options] -- two ranks over a slow wire: our pipeline, our data=2 and PyTorch's 1F1B over gloo.

As root, on Linux: each run has a network namespace of its own, in which `tc qdisc ... tbf` limits the rate of the
loopback device; both ranks send over TCP through it. Ranks have one thread each. The ideal is half of the time that one
process of one thread needs for the same step, so the ratio counts bubbles, messages and all else. PyTorch trains the
same shape (torch.distributed.pipelining; --python). Runs take turns; medians of all steps but the first two.
"""
import argparse, csv, json, os, shutil, statistics, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
SHAPE = dict(hidden=256, layers=4, heads=4, ffn=704)


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("data", help="shards of hpccoder corpus pack")
    p.add_argument("tokenizer")
    for name, value in SHAPE.items():
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--vocab", type=int, default=1024, help="of the tokenizer")
    p.add_argument("--rows", type=int, default=2, help="sequences of a microbatch")
    p.add_argument("--length", type=int, default=64)
    p.add_argument("--microbatches", type=int, default=8)
    p.add_argument("--rates", default="1gbit,10gbit")
    p.add_argument("--steps", type=int, default=6, help="of a run")
    p.add_argument("--turns", type=int, default=2)
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--hpccoder", default=os.path.join(HERE, "../../build/release/hpccoder"))
    p.add_argument("--torch-rank", type=int, help=argparse.SUPPRESS)
    p.add_argument("--ranks", type=int, default=2, help=argparse.SUPPRESS)
    p.add_argument("--store", help=argparse.SUPPRESS)  # a file: a name service would have no network
    return p.parse_args()


def shaped(rate, words):
    """The words of a command that runs in a namespace with this rate; "": no limit."""
    limit = f"tc qdisc add dev lo root tbf rate {rate} burst 256kb latency 100ms && " if rate else ""
    return ["unshare", "-n", "sh", "-c", f'ip link set lo up && {limit}exec "$@"', "sh", *words]


# ---- ours ----


def ours(o, rate, grid):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "run")
        words = [o.hpccoder, "train", "-q", "--data", o.data, "--tokenizer", o.tokenizer, "--out", out, "--no-tied"]
        for k in [*SHAPE, "rows", "length", "steps"]:
            words += [f"--{k}", str(getattr(o, k))]
        words += ["--kv-heads", str(o.heads), "--accumulate", str(o.microbatches), "--optimizer", "adamw", "-j", "1"]
        words += ["--save-every", "0"] + (["--grid", grid] if grid else [])
        mpi = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "2"]
        mpi += ["--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo", "--mca", "pml", "ob1"]
        done = subprocess.run(shaped(rate, (mpi if grid else []) + words), capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(words)}: {done.stderr}")
        with open(os.path.join(out, "metrics.csv")) as f:
            return [float(r["step_ms"]) for r in csv.DictReader(f)][2:]


# ---- PyTorch ----


def stage_of(torch, o, index, ranks):
    """Blocks of Llama's shape; the first stage has the embedding, the last the head."""
    nn, F, n, d = torch.nn, torch.nn.functional, o.hidden, o.hidden // o.heads
    angle = torch.outer(torch.arange(o.length).float(), 10000.0 ** (-torch.arange(0, d, 2).float() / d))
    cos, sin = torch.cat([angle, angle], 1).cos(), torch.cat([angle, angle], 1).sin()

    def turn(x):
        return x * cos + torch.cat([-x[..., d // 2 :], x[..., : d // 2]], -1) * sin

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.n1, self.n2 = nn.RMSNorm(n), nn.RMSNorm(n)
            self.qkv, self.o = nn.Linear(n, 3 * n, bias=False), nn.Linear(n, n, bias=False)
            self.up, self.down = nn.Linear(n, 2 * o.ffn, bias=False), nn.Linear(o.ffn, n, bias=False)

        def forward(self, x):
            rows = x.shape[0]
            q, k, v = self.qkv(self.n1(x)).view(rows, o.length, 3, o.heads, d).permute(2, 0, 3, 1, 4)
            a = F.scaled_dot_product_attention(turn(q), turn(k), v, is_causal=True)
            x = x + self.o(a.transpose(1, 2).reshape(rows, o.length, n))
            gate, up = self.up(self.n2(x)).chunk(2, -1)
            return x + self.down(F.silu(gate) * up)

    blocks = [Block() for _ in range(o.layers // ranks)]
    if index == 0:
        blocks.insert(0, nn.Embedding(o.vocab, n))
    if index == ranks - 1:
        blocks += [nn.RMSNorm(n), nn.Linear(n, o.vocab, bias=False)]
    return nn.Sequential(*blocks)


def torch_rank(o):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    torch.manual_seed(1)
    module, times = stage_of(torch, o, o.torch_rank, o.ranks), []
    update = torch.optim.AdamW(module.parameters(), lr=1e-3, fused=True)
    rows = o.rows * o.microbatches
    tokens = torch.randint(0, o.vocab, (rows, o.length))
    target = torch.roll(tokens, -1, 1)

    def loss(logits, y):
        return torch.nn.functional.cross_entropy(logits.reshape(-1, o.vocab), y.reshape(-1))

    if o.ranks > 1:
        from torch.distributed.pipelining import PipelineStage, Schedule1F1B

        dist.init_process_group("gloo", init_method="file://" + o.store, rank=o.torch_rank, world_size=o.ranks)
        # With shapes given, stages exchange none; a gradient comes back only for what requires one.
        hidden = torch.empty(o.rows, o.length, o.hidden, device="meta", requires_grad=True)
        first = o.torch_rank == 0
        stage = PipelineStage(module, o.torch_rank, o.ranks, torch.device("cpu"),
                              input_args=(tokens[: o.rows].to("meta") if first else hidden,),
                              output_args=(hidden if first else hidden.new_empty(o.rows, o.length, o.vocab),))
        schedule = Schedule1F1B(stage, o.microbatches, loss_fn=loss)
    for _ in range(o.steps):
        start = time.perf_counter()
        if o.ranks == 1:
            for x, y in zip(tokens.chunk(o.microbatches), target.chunk(o.microbatches)):
                (loss(module(x), y) / o.microbatches).backward()
        elif o.torch_rank == 0:
            schedule.step(tokens)
        else:
            schedule.step(target=target)
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        update.step()
        update.zero_grad(set_to_none=True)
        if o.ranks > 1:
            dist.barrier()
        times.append((time.perf_counter() - start) * 1e3)
    if o.torch_rank == 0:
        print(json.dumps(dict(ms=times[2:], version=torch.__version__)))
    if o.ranks > 1:
        dist.destroy_process_group()


def theirs(o, rate, ranks):
    words = [o.python, os.path.abspath(__file__), *sys.argv[1:], "--ranks", str(ranks)]
    folder = tempfile.TemporaryDirectory()
    words += ["--store", os.path.join(folder.name, "store"), "--torch-rank"]
    both = '"$@" 1 & other=$!; "$@" 0 || { kill $other; exit 1; }; wait $other' if ranks > 1 else '"$@" 0'
    env = dict(os.environ, OMP_NUM_THREADS="1", TORCH_CPP_LOG_LEVEL="ERROR", GLOO_SOCKET_IFNAME="lo")
    done = subprocess.run(shaped(rate, ["sh", "-c", both, "sh", *words]), env=env, capture_output=True, text=True)
    folder.cleanup()
    if done.returncode:
        sys.exit(f"PyTorch: {done.stderr}")
    found = json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])
    return found["ms"], found["version"]


def main():
    o = options()
    if o.torch_rank is not None:
        return torch_rank(o)
    if not shutil.which("tc") or subprocess.run(shaped("1gbit", ["true"]), capture_output=True).returncode:
        sys.exit("wire.py: tc cannot limit the loopback device in a network namespace here: it needs root and iproute2")
    rates = o.rates.split(",")
    ways = {"pipe=2, 1f1b": "pipe=2", "data=2": "data=2", "torch, 1F1B": None}
    one, found, version = {"ours": [], "torch": []}, {(r, w): [] for r in rates for w in ways}, ""
    for _ in range(o.turns):
        one["ours"] += ours(o, "", "")
        one["torch"] += theirs(o, "", 1)[0]
        for rate, way in found:
            if ways[way]:
                found[rate, way] += ours(o, rate, ways[way])
            else:
                ms, version = theirs(o, rate, 2)
                found[rate, way] += ms
    print(f"{ {k: getattr(o, k) for k in SHAPE} }, {o.microbatches} microbatches of {o.rows} x {o.length} tokens, f32, PyTorch {version}")
    ideal = {k: statistics.median(v) / 2 for k, v in one.items()}
    print(f"ideal: {ideal['ours']:.1f} ms ours, {ideal['torch']:.1f} ms PyTorch")
    for (rate, way), ms in found.items():
        m = statistics.median(ms)
        print(f"{rate:8}{way:16}{m:9.1f} ms  {m / ideal['torch' if way.startswith('torch') else 'ours']:5.2f} of its ideal")


if __name__ == "__main__":
    main()
