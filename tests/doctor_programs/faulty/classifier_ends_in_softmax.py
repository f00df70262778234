# expect: loss-activation-mismatch line 13, 16, 26
# The network ends with Softmax and is trained with CrossEntropyLoss.

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(n_in, 32), nn.LeakyReLU(), nn.Dropout(0.1))
        self.logits = nn.Linear(32, n_out)
        self.norm = nn.Softmax(dim=-1)

    def forward(self, x):
        return self.norm(self.logits(self.features(x)))


torch.manual_seed(0)
net = Classifier(7, 4)
crit = nn.CrossEntropyLoss(label_smoothing=0.05)
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for i in range(30):
    x = torch.randn(32, 7)
    y = x[:, :4].argmax(1)
    loss = crit(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
