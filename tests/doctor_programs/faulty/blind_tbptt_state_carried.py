# expect: backward-twice line 20, 32, 35
# The hidden state of the character model is carried over chunks with its graph.

import torch
from torch import nn


class CharRNN(nn.Module):
    def __init__(self, vocab=10, dim=16):
        super().__init__()
        self.emb, self.cell, self.out = (
            nn.Embedding(vocab, dim),
            nn.GRUCell(dim, dim),
            nn.Linear(dim, vocab),
        )

    def forward(self, tokens, h):
        outs = []
        for t in tokens.unbind(1):
            h = self.cell(self.emb(t), h)
            outs.append(self.out(h))
        return torch.stack(outs, 1), h


torch.manual_seed(0)
net = CharRNN()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
text = torch.arange(200).remainder(10).view(2, 100)
h = torch.zeros(2, 16)
for i in range(0, 90, 10):
    chunk, nxt = text[:, i : i + 10], text[:, i + 1 : i + 11]
    logits, h = net(chunk, h)
    loss = nn.functional.cross_entropy(logits.transpose(1, 2), nxt)
    opt.zero_grad()
    loss.backward()
    opt.step()
