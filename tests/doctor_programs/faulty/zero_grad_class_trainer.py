# expect: missing-zero-grad line 29, 30
# The trainer never clears gradients, every update uses the sum over all batches so far.

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(nn.Module):
    def __init__(self, n_features, n_classes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_features, 32), nn.ReLU())
        self.head = nn.Linear(32, n_classes)

    def forward(self, x):
        return self.head(self.body(x))


class Trainer:
    def __init__(self, model, loader, lr=0.05):
        self.model = model
        self.loader = loader
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)

    def run_batch(self, x, y):
        logits = self.model(x)
        loss = self.criterion(logits, y)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self, epochs):
        for epoch in range(epochs):
            losses = [self.run_batch(x, y) for x, y in self.loader]
            print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f}")


torch.manual_seed(0)
x = torch.randn(128, 10)
y = (x[:, 0] + x[:, 1] > 0).long() + (x[:, 2] > 0.5).long()
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
Trainer(Classifier(10, 3), loader).fit(6)
