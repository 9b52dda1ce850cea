#!/usr/bin/env python3
"""moe.py DATA [options] -- a training step of a mixture of experts: hpccoder, plain PyTorch, DeepSpeed.

The same shape (Qwen3-MoE: every MLP is --experts SwiGLU experts, two for a token), batch, AdamW and clipping
at norm 1, in turns on the same machine. DATA: shards of `hpccoder corpus pack`, for hpccoder; the others take
random tokens, below --vocab, which should be that of DATA. PyTorch gathers the rows of each expert with index_select.
DeepSpeed's MoE layer multiplies by one-hot masks, with a capacity of 1.25; without the package it is left out.
--ranks 2: two processes with half of the threads and rows each, experts divided between them (hpccoder: --grid
expert=2 under mpirun; DeepSpeed: ep_size 2, all_to_all and gradients over gloo). PyTorch alone has no such layer.
Prints medians of a step; ratios above 1 mean that hpccoder is faster.
"""
import argparse, csv, json, os, statistics, subprocess, sys, tempfile, time


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("data")
    for name, usual in dict(hidden=256, layers=4, heads=4, ffn=512, experts=8, vocab=4096, rows=4, length=256).items():
        p.add_argument(f"--{name}", type=int, default=usual)
    p.add_argument("--steps", type=int, default=3, help="timed steps of a turn, after two that are not")
    p.add_argument("--turns", type=int, default=2)
    p.add_argument("--threads", type=int, default=os.cpu_count(), help="of all ranks")
    p.add_argument("--ranks", type=int, default=1)
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--hpccoder", default="build/release/hpccoder")
    p.add_argument("--peer", choices=["torch", "deepspeed"], help=argparse.SUPPRESS)
    return p.parse_args()


def expert_class(torch, o):
    class Expert(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.up = torch.nn.Linear(o.hidden, 2 * o.ffn, bias=False)
            self.down = torch.nn.Linear(o.ffn, o.hidden, bias=False)

        def forward(self, x):
            gate, up = self.up(x).chunk(2, -1)
            return self.down(torch.nn.functional.silu(gate) * up)

    return Expert


def gathered_class(torch, o, expert):
    """The rows of each expert are gathered, and its results added back."""

    class Gathered(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.router = torch.nn.Linear(o.hidden, o.experts, bias=False)
            self.experts = torch.nn.ModuleList(expert() for _ in range(o.experts))

        def forward(self, x):
            shape, x = x.shape, x.reshape(-1, o.hidden)
            prob = self.router(x).softmax(-1)
            weight, chosen = prob.topk(2, -1)
            weight = weight / weight.sum(-1, keepdim=True)
            y = torch.zeros_like(x)
            for e, one in enumerate(self.experts):
                token, slot = (chosen == e).nonzero(as_tuple=True)
                y = y.index_add(0, token, one(x.index_select(0, token)) * weight[token, slot, None])
            share = torch.nn.functional.one_hot(chosen, o.experts).float().sum(1).mean(0)
            return y.view(shape), o.experts * (share * prob.mean(0)).sum()

    return Gathered


def mixture(torch, o):
    expert = expert_class(torch, o)
    if o.peer == "torch":
        return gathered_class(torch, o, expert)
    import deepspeed
    from deepspeed.moe.layer import MoE

    deepspeed.ops.__compatible_ops__.clear()  # nothing is compiled at run time, and gloo carries all
    deepspeed.init_distributed("gloo")

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.moe = MoE(o.hidden, expert(), num_experts=o.experts, k=2, capacity_factor=1.25,
                           ep_size=o.ranks)
            self.moe.set_deepspeed_parallelism()

        def forward(self, x):
            y, aux, _ = self.moe(x)
            return y, aux

    return Layer


def model(torch, o):
    F, d, moe = torch.nn.functional, o.hidden // o.heads, mixture(torch, o)

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.n1, self.n2 = torch.nn.RMSNorm(o.hidden), torch.nn.RMSNorm(o.hidden)
            self.qn, self.kn = torch.nn.RMSNorm(d), torch.nn.RMSNorm(d)
            self.qkv = torch.nn.Linear(o.hidden, 3 * o.hidden, bias=False)
            self.o = torch.nn.Linear(o.hidden, o.hidden, bias=False)
            self.mlp = moe()

        def forward(self, x, cos, sin):
            q, k, v = self.qkv(self.n1(x)).view(o.rows, o.length, 3, o.heads, d).permute(2, 0, 3, 1, 4)
            q, k = (t * cos + torch.cat([-t[..., d // 2 :], t[..., : d // 2]], -1) * sin for t in (self.qn(q), self.kn(k)))
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.o(a.transpose(1, 2).reshape(o.rows, o.length, o.hidden))
            y, aux = self.mlp(self.n2(x))
            return x + y, aux

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(o.vocab, o.hidden)
            self.blocks = torch.nn.ModuleList(Block() for _ in range(o.layers))
            self.norm = torch.nn.RMSNorm(o.hidden)

        def forward(self, tokens):
            angle = torch.outer(torch.arange(o.length).float(), 10000.0 ** (-torch.arange(0, d, 2).float() / d))
            cos, sin = torch.cat([angle, angle], 1).cos(), torch.cat([angle, angle], 1).sin()
            x, extra = self.embed(tokens), 0.0
            for b in self.blocks:
                x, aux = b(x, cos, sin)
                extra = extra + 0.01 * aux
            logits = F.linear(self.norm(x), self.embed.weight)
            return F.cross_entropy(logits.view(-1, o.vocab), torch.roll(tokens, -1, 1).reshape(-1)) + extra

    return Model()


def join_gradients(torch, o, m):
    """Gradients of what all ranks hold become means; experts have those of all tokens already."""
    shared = [p for p in m.parameters() if getattr(p, "allreduce", True)]
    flat = torch.cat([p.grad.view(-1) for p in shared])
    torch.distributed.all_reduce(flat)
    for p, g in zip(shared, flat.div_(o.ranks).split([p.numel() for p in shared])):
        p.grad.copy_(g.view_as(p))
    for p in m.parameters():
        if not getattr(p, "allreduce", True):
            p.grad.div_(o.ranks)


def peer_turn(o):
    import torch

    o.rows //= o.ranks
    torch.set_num_threads(max(o.threads // o.ranks, 1))
    torch.manual_seed(1)
    m = model(torch, o)
    update = torch.optim.AdamW(m.parameters(), lr=1e-3, fused=True)
    tokens, times = torch.randint(0, o.vocab, (o.rows, o.length)), []
    for _ in range(o.steps + 2):
        start = time.perf_counter()
        m(tokens).backward()
        if o.ranks > 1:
            join_gradients(torch, o, m)
        torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        update.step()
        update.zero_grad(set_to_none=True)
        times.append((time.perf_counter() - start) * 1e3)
    print(json.dumps(times[2:]), flush=True)
    os._exit(0)  # gloo's threads have nothing left to do


def ours(o):
    with tempfile.TemporaryDirectory() as folder:
        words = (f"train --data {o.data} --out {folder}/run --hidden {o.hidden} --layers {o.layers} --heads {o.heads} "
                 f"--kv-heads {o.heads} --ffn {o.ffn} --length {o.length} --rows {o.rows} --experts {o.experts} --top-k 2 "
                 f"--steps {o.steps + 2} --optimizer adamw --dtype f32 --threads {max(o.threads // o.ranks, 1)} --tied "
                 f"--save-every 0 -q").split()
        starter = f"mpirun --oversubscribe --bind-to none -n {o.ranks}".split() if o.ranks > 1 else []
        words += ["--grid", f"expert={o.ranks}"] if o.ranks > 1 else []
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        r = subprocess.run([*starter, o.hpccoder, *words], capture_output=True, text=True, env=environment)
        if r.returncode:
            sys.exit(f"hpccoder: {r.stderr.strip()}")
        return [float(r["step_ms"]) for r in csv.DictReader(open(f"{folder}/run/metrics.csv"))][2:]


def theirs(o, peer):
    words = [o.python, __file__, *sys.argv[1:], "--peer", peer]
    world = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20000 + os.getpid() % 20000), "WORLD_SIZE": str(o.ranks)}
    ranks = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={
        **os.environ, **world, "RANK": str(k), "LOCAL_RANK": str(k), "DS_ACCELERATOR": "cpu"}) for k in range(o.ranks)]
    out = [r.communicate() for r in ranks]
    if any(r.returncode for r in ranks):
        print(f"{peer}: {(out[0][1].strip().splitlines() or ['it ended'])[-1]}")
        return []
    return json.loads(out[0][0].splitlines()[-1])


def main():
    o = options()
    if o.peer:
        return peer_turn(o)
    times = {"hpccoder": [], "torch": [], "deepspeed": []}
    for _ in range(o.turns):
        times["hpccoder"] += ours(o)
        for peer in ("torch", "deepspeed") if o.ranks == 1 else ("deepspeed",):
            times[peer] += theirs(o, peer)
    tokens = o.rows * o.length
    print(f"hidden {o.hidden}, {o.layers} layers, {o.experts} experts of {o.ffn}, {tokens} tokens, f32, {o.ranks} x "
          f"{max(o.threads // o.ranks, 1)} threads")
    mine = statistics.median(times["hpccoder"])
    for name, t in times.items():
        if t:
            ms = statistics.median(t)
            print(f"{name:10} {ms:9.1f} ms  {tokens / ms * 1e3:8.0f} tokens/s  ratio {ms / mine:.2f}")


if __name__ == "__main__":
    main()
