# expect: zero-grad-before-step line 19
# A Trainer whose gradient hook clears what it should clip.

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Fitter:
    def __init__(self, net, lr=1e-2):
        self.net = net
        self.loss_fn = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.AdamW(net.parameters(), lr=lr, weight_decay=0.0)
        self.history = {"loss": []}

    def prepare_gradients(self):
        for p in self.net.parameters():
            if p.grad is not None:
                p.grad.zero_()
        nn.utils.clip_grad_value_(self.net.parameters(), 1.0)

    def fit(self, loader, epochs):
        for _ in range(epochs):
            for xb, yb in loader:
                loss = self.loss_fn(self.net(xb), yb)
                loss.backward()
                self.prepare_gradients()
                self.optimizer.step()
                self.history["loss"].append(float(loss.detach()))


torch.manual_seed(5)
x = torch.randn(200, 6)
y = (x.sum(1) > 0).long()
net = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 2))
fitter = Fitter(net)
fitter.fit(DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True), 3)
print(fitter.history["loss"][-1])
