# expect: graph-leak line 21, 22

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.LSTM(3, 16, batch_first=True)
fc = nn.Linear(16, 1)
opt = torch.optim.Adam(list(net.parameters()) + list(fc.parameters()), lr=1e-2)
history = {"train": []}
for epoch in range(5):
    epoch_loss = 0.0
    for _ in range(6):
        x = torch.randn(16, 7, 3)
        y = x[:, :, 0].sum(1, keepdim=True)
        out, _ = net(x)
        loss = nn.functional.mse_loss(fc(out[:, -1]), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        epoch_loss = epoch_loss + loss
    history["train"].append(epoch_loss / 6)
print([float(v) for v in history["train"]])
