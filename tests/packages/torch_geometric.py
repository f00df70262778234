"""PyG: graph convolutions on a small graph."""

import torch
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv, SAGEConv

torch.manual_seed(0)
edges = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]])
graph = Data(x=torch.randn(5, 4), edge_index=edges, y=torch.tensor([0, 1, 0, 1, 0]))
for layer in (GCNConv, SAGEConv, GATConv):
    first, second = layer(4, 8), layer(8, 2)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01)
    for _ in range(3):
        out = second(first(graph.x, graph.edge_index).relu(), graph.edge_index)
        loss = torch.nn.functional.cross_entropy(out, graph.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(layer.__name__, f"{loss.item():.5f}")
