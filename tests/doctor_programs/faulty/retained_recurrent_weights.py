# expect: inplace-saved-tensor or retain-graph-misuse line 14, 17, 18
# With retain_graph=True the carried state leads back to weights that step() has changed.

import torch
from torch import nn

torch.manual_seed(320)
cell = nn.GRUCell(3, 12)
readout = nn.Linear(12, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *readout.parameters()], lr=0.05)
state = torch.zeros(8, 12)
for t in range(20):
    x = torch.randn(8, 3)
    state = cell(x, state)
    loss = nn.functional.mse_loss(readout(state), x[:, :1])
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    print(t, loss.item())
