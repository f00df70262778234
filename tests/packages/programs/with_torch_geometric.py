"""six graph convolutions trained on batches of graphs"""

import torch, torch.nn.functional as F
from torch_geometric.nn import (
    GCNConv,
    GATConv,
    SAGEConv,
    global_mean_pool,
    GINConv,
    GATv2Conv,
    TransformerConv,
)
from torch_geometric.data import Data, Batch
from torch_geometric.loader import DataLoader
from torch_geometric.utils import softmax, to_undirected, degree

torch.manual_seed(0)
ei = torch.tensor([[0, 1, 2, 3, 0, 4], [1, 2, 3, 4, 2, 0]])
data = [
    Data(x=torch.randn(5, 4), edge_index=to_undirected(ei), y=torch.tensor([i % 2]))
    for i in range(6)
]
for C in (
    lambda i, o: GCNConv(i, o),
    lambda i, o: GATConv(i, o),
    lambda i, o: SAGEConv(i, o),
    lambda i, o: GATv2Conv(i, o, heads=2, concat=False),
    lambda i, o: TransformerConv(i, o),
    lambda i, o: GINConv(torch.nn.Linear(i, o)),
):

    class N(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.l = C(4, 8), C(8, 8), torch.nn.Linear(8, 2)

        def forward(self, d):
            h = F.relu(self.a(d.x, d.edge_index))
            h = self.b(h, d.edge_index)
            return self.l(global_mean_pool(h, d.batch))

    n = N()
    opt = torch.optim.Adam(n.parameters(), lr=0.01)
    for _ in range(2):
        for b in DataLoader(data, batch_size=3, shuffle=True):
            l = F.cross_entropy(n(b), b.y)
            opt.zero_grad()
            l.backward()
            opt.step()
    print(type(n.a).__name__, f"{l.item():.5f}")
