# expect: retain-graph-misuse line 18, 19, 30, 33
# retain_graph=True silences the second-backward error; the memory is never detached and grows.

import torch
from torch import nn


class Memory(nn.Module):
    """Leaky memory of past inputs and a readout."""

    def __init__(self, n_in=3, dim=12, leak=0.9):
        super().__init__()
        self.write = nn.Linear(n_in, dim)
        self.read = nn.Linear(dim, 1)
        self.leak = leak

    def forward(self, x, memory):
        memory = self.leak * memory + self.write(x)
        return self.read(torch.tanh(memory)), memory


torch.manual_seed(78)
model = Memory()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
memory = torch.zeros(8, 12)
trace = torch.zeros(8, 1)
for t in range(40):
    x = torch.randn(8, 3)
    trace = 0.8 * trace + x[:, :1]
    out, memory = model(x, memory)
    loss = nn.functional.mse_loss(out, trace)
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    if t % 10 == 0:
        print(t, loss.item())
