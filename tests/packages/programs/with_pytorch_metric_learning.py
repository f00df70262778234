"""pytorch-metric-learning: a triplet loss with mined triplets."""

import torch
from pytorch_metric_learning import losses, miners

torch.manual_seed(0)
model = torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
miner, criterion = miners.MultiSimilarityMiner(), losses.TripletMarginLoss()
x, y = torch.randn(12, 8), torch.arange(12) % 3
for _ in range(4):
    embeddings = model(x)
    loss = criterion(embeddings, y, miner(embeddings, y))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
