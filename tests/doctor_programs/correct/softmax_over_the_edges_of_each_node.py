# expect: nothing
import torch
from torch import nn
import torch.nn.functional as F


class EdgeAttention(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.value = nn.Linear(n_in, n_out)
        self.score = nn.Linear(2 * n_out, 1)

    def forward(self, h, edges):
        source, target = edges
        v = self.value(h)
        e = F.leaky_relu(self.score(torch.cat([v[source], v[target]], 1)), 0.2)
        w = (e - e.max().detach()).exp()
        alpha = w / torch.zeros(len(h), 1).index_add_(0, target, w)[target]
        out = torch.zeros_like(v)
        return out.index_add_(0, target, alpha * v[source])


torch.manual_seed(1)
n = 40
edges = torch.cat([torch.randint(0, n, (2, 160)), torch.arange(n).repeat(2, 1)], 1)
h = torch.randn(n, 6)
labels = (h[:, 0] > 0).long()
layers = nn.ModuleList([EdgeAttention(6, 16), EdgeAttention(16, 2)])
optimizer = torch.optim.Adam(layers.parameters(), lr=1e-2)
for step in range(20):
    out = layers[1](F.elu(layers[0](h, edges)), edges)
    loss = F.cross_entropy(out, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
