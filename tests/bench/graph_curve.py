#!/usr/bin/env python3
"""graph_curve.py DIR -- training curves of hpccoder and PyTorch Geometric on the same graphs.

DIR has the files of `HPC_GRAPH_CURVES=DIR make test ONLY=graph/train`: graphs of the sizes of Cora and
ogbn-arxiv, features, classes, first parameters and the losses of two layers of GCN. This script trains GCNConv
from the same parameters with torch's AdamW and prints the largest difference of the losses, and both accuracies.
"""
import os, sys


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    import numpy as np, torch
    from torch_geometric.nn import GCNConv

    for task in "cora", "arxiv":
        def read(name, kind):
            return np.fromfile(os.path.join(sys.argv[1], f"{task}.{name}"), kind)

        if not os.path.exists(os.path.join(sys.argv[1], f"{task}.loss")):
            continue
        vertices, _, classes, features, hidden, given, steps = read("sizes", "<i4").tolist()
        to = np.repeat(np.arange(vertices), np.diff(read("start", "<i4")))
        edges = torch.from_numpy(np.stack([read("index", "<i4").astype(np.int64), to]))
        x = torch.from_numpy(read("x", "<f4").reshape(vertices, features))
        target = torch.from_numpy(read("target", "<i4").astype(np.int64))
        first = GCNConv(features, hidden, add_self_loops=False, cached=True)
        second = GCNConv(hidden, classes, add_self_loops=False, cached=True, bias=False)
        with torch.no_grad():
            first.lin.weight.copy_(torch.from_numpy(read("0.weight", "<f4").reshape(hidden, features)))
            first.bias.copy_(torch.from_numpy(read("0.bias", "<f4")))
            second.lin.weight.copy_(torch.from_numpy(read("1.weight", "<f4").reshape(classes, hidden)))
        parameters = list(first.parameters()) + list(second.parameters())
        optimizer = torch.optim.AdamW(parameters, lr=0.02, weight_decay=5e-3)
        ours, theirs = read("loss", "<f8"), []
        for _ in range(steps):
            optimizer.zero_grad()
            logits = second(torch.relu(first(x, edges)), edges)
            loss = torch.nn.functional.cross_entropy(logits[:given], target[:given])
            loss.backward()
            optimizer.step()
            theirs.append(loss.item())
        # Both accuracies are of the parameters before the last update.
        hit = (logits[given:].argmax(1).numpy() == read("hidden", "<i4")[given:]).mean()
        off = np.abs(ours - np.array(theirs))
        print(f"{task}: {vertices} vertices, {edges.shape[1]} edges, {steps} steps; loss {ours[0]:.4f} to "
              f"{ours[-1]:.4f}, peer {theirs[0]:.4f} to {theirs[-1]:.4f}; largest difference {off.max():.2g}; "
              f"accuracy {read('accuracy', '<f8')[0]:.4f}, peer {hit:.4f}")


if __name__ == "__main__":
    main()
