# expect: bad-learning-rate line 9

import torch
from torch import nn

torch.manual_seed(0)
net = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
head = nn.Linear(16, 2)
opt = torch.optim.AdamW([{"params": net.parameters()}, {"params": head.parameters()}], lr=3e-8)
for i in range(30):
    x = torch.randn(16, 6, 16)
    y = (x[:, :, 0].mean(1) > 0).long()
    loss = nn.functional.cross_entropy(head(net(x).mean(1)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
