# expect: step-before-backward line 23
# The step precedes zero_grad and backward, so each update applies the previous batch's gradient.

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SoftmaxRegression:
    def __init__(self):
        torch.manual_seed(11)
        x = torch.randn(120, 7)
        y = (x @ torch.randn(7, 4)).argmax(dim=1)
        self.loader = DataLoader(TensorDataset(x, y), batch_size=24, shuffle=True)
        self.model = nn.Linear(7, 4)
        self.optim = torch.optim.SGD(self.model.parameters(), lr=0.5)

    def train_epoch(self):
        total = 0.0
        for x, y in self.loader:
            logits = self.model(x)
            loss = nn.functional.cross_entropy(logits, y)
            self.optim.step()
            self.optim.zero_grad()
            loss.backward()
            total += loss.item() * len(x)
        return total / 120


regression = SoftmaxRegression()
for epoch in range(5):
    print(f"epoch {epoch:02d} loss {regression.train_epoch():.4f}")
