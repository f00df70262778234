# expect: zero-grad-before-step line 30
# Gradients are cleared between the two backwards: the first loss never has an effect.

import torch
import torch.nn.functional as F
from torch import nn


class TwoLosses(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(7, 24), nn.ReLU())
        self.regress, self.classify = nn.Linear(24, 1), nn.Linear(24, 2)

    def regression_loss(self, x):
        return F.mse_loss(self.regress(self.body(x)), x[:, :1])

    def classification_loss(self, x):
        return F.cross_entropy(self.classify(self.body(x)), (x[:, 1] > 0).long())


torch.manual_seed(602)
model = TwoLosses()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
x = torch.randn(90, 7)
for epoch in range(12):
    optimizer.zero_grad()
    regression = model.regression_loss(x)
    regression.backward()
    optimizer.zero_grad()
    classification = model.classification_loss(x)
    classification.backward()
    optimizer.step()
    if epoch % 4 == 0:
        print(epoch, regression.item(), classification.item())
