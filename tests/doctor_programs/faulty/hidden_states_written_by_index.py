# expect: inplace-saved-tensor line 21
# The recurrent states are written into one tensor by index after earlier rows were saved.
# saved: line 20

import torch
from torch import nn


class LoopRNN(nn.Module):
    def __init__(self, n_in, hidden):
        super().__init__()
        self.hidden = hidden
        self.inp = nn.Linear(n_in, hidden)
        self.rec = nn.Linear(hidden, hidden)

    def forward(self, seq):
        steps, batch, _ = seq.shape
        states = torch.zeros(steps + 1, batch, self.hidden)
        for t in range(steps):
            pre = self.inp(seq[t]) + self.rec(states[t])
            states[t + 1] = torch.tanh(pre)
        return states[1:]


torch.manual_seed(68)
rnn = LoopRNN(3, 12)
readout = nn.Linear(12, 1)
optimizer = torch.optim.Adam([*rnn.parameters(), *readout.parameters()], lr=1e-2)
seq = torch.randn(6, 20, 3)
target = seq.cumsum(0)[..., :1]
for epoch in range(5):
    loss = (readout(rnn(seq)) - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("epoch", epoch, loss.item())
