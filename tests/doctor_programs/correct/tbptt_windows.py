# expect: nothing
# Truncated back-propagation over windows with a carried, detached state.

import clew as torch
from clew import nn


class CharRnn(nn.Module):
    def __init__(self, v=12, h=24):
        super().__init__()
        self.e = nn.Embedding(v, 8)
        self.r = nn.LSTM(8, h, batch_first=True)
        self.o = nn.Linear(h, v)

    def forward(self, x, s=None):
        y, s = self.r(self.e(x), s)
        return self.o(y), s


torch.manual_seed(0)
text = torch.arange(600) % 12
text = text.view(4, 150)
net = CharRnn()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(2):
    state = None
    for i in range(0, 140, 14):
        x, y = text[:, i : i + 14], text[:, i + 1 : i + 15]
        if state is not None:
            state = tuple(s.detach() for s in state)
        logits, state = net(x, state)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
