"""A graph network: nodes learn from their neighbours, and two labels in a hundred are enough.

Nodes belong to groups, have features that tell little, and are joined more often to nodes of their
own group. A graph convolution adds up what the neighbours say: a gather along the edges, and a
scatter (`index_add`) to where they lead; its backward is the same with the edges turned around. The
same layers without edges see each node alone.
"""

from pathlib import Path

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
GROUPS, FEATURES = 5, 16


def graph(nodes: int, seed: int):
    """Features, the group of each node, and edges as two rows of nodes, both ways."""
    torch.manual_seed(seed)
    group = torch.arange(nodes) % GROUPS
    centres = torch.randn(GROUPS, FEATURES)
    features = centres[group] * 0.5 + torch.randn(nodes, FEATURES)
    same = group.unsqueeze(0) == group.unsqueeze(1)
    chance = torch.where(same, 40.0, 4.0) / nodes
    joined = (torch.rand(nodes, nodes) < chance).triu(diagonal=1)
    source, target = joined.nonzero().T
    loops = torch.arange(nodes)
    edges = torch.stack([torch.cat([source, target, loops]), torch.cat([target, source, loops])])
    return features, group, edges


class GraphConvolution(nn.Module):
    """Σ of neighbours / √(degree × degree), then a linear layer."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x, edges):
        source, target = edges
        degree = torch.zeros(len(x)).index_add(0, target, torch.ones(len(target)))
        weight = (degree[source] * degree[target]).rsqrt().unsqueeze(1)
        return self.linear(torch.zeros_like(x).index_add(0, target, weight * x[source]))


class Network(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.first = GraphConvolution(FEATURES, width)
        self.second = GraphConvolution(width, GROUPS)

    def forward(self, x, edges):
        return self.second(F.relu(self.first(x, edges)), edges)


def train(features, group, edges, known, steps: int, seed: int, name: str):
    torch.manual_seed(seed)
    model = Network(32)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-3)
    curve = []
    bar = helper.progress(range(steps), f"{name:8}")
    for _ in bar:
        optimizer.zero_grad()
        scores = model(features, edges)
        loss = F.cross_entropy(scores[known], group[known])
        loss.backward()
        optimizer.step()
        right = (scores.detach().argmax(dim=1) == group).float()
        curve.append(right.mean().item())
        bar.say(f"loss {loss.item():.3f}, accuracy {curve[-1]:.0%}")
    return curve


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    nodes = 500 if fast else 2000
    features, group, edges = graph(nodes, seed)
    known = torch.randperm(nodes)[: nodes // 50]
    alone = torch.arange(nodes).repeat(2, 1)
    steps = 60 if fast else 200
    curves = {
        name: train(features, group, joined, known, steps, seed, name)
        for name, joined in (("graph", edges), ("no edges", alone))
    }
    helper.chart(
        out / "graph_network.svg", curves, f"Groups of nodes, from {len(known)} labels", "step",
        "accuracy",
    )  # fmt: skip
    figures = {f"{name}: accuracy": curve[-1] for name, curve in curves.items()}
    return figures | {"edges for each node": edges.shape[1] / nodes}


def claims(figures, fast):
    joined, alone = (figures[f"{name}: accuracy"] for name in ("graph", "no edges"))
    goal = 0.6 if fast else 0.9
    yield (
        f"{joined:.0%} of nodes find their group ({goal:.0%} asked), without edges {alone:.0%}",
        joined > goal and joined > alone + 0.15,
    )


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
