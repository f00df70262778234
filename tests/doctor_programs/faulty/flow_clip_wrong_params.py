# expect: clip-misplaced line 16

import torch
from torch import nn

torch.manual_seed(0)
net = nn.LSTM(4, 8, batch_first=True)
head = nn.Linear(8, 1)
params = [*net.parameters(), *head.parameters()]
opt = torch.optim.SGD(params, lr=0.05)
for i in range(25):
    x = torch.randn(8, 10, 4)
    out, _ = net(x)
    loss = (head(out[:, -1]) - x[:, :, 0].mean(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    torch.nn.utils.clip_grad_norm_(params, 0.5)
    loss.backward()
    opt.step()
