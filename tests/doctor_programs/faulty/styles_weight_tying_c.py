# expect: batch-mixing or shuffled-labels line 38
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(26)


class CharLM(nn.Module):
    def __init__(self, v=18, d=32, layers=2):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.rnn = nn.LSTM(d, d, layers, batch_first=True)
        self.out = nn.Linear(d, v)
        self.out.weight = self.emb.weight

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.out(h)


def make_stream(n=1200):
    s = [0, 1]
    for _ in range(n):
        s.append((s[-1] * 2 + s[-2] + 1) % 18)
    return torch.tensor(s)


stream = make_stream()
lm = CharLM()
opt = torch.optim.Adam(lm.parameters(), lr=4e-3)
B, T = 8, 12
for step in range(30):
    at = torch.randint(0, 1100, (B,))
    chunk = torch.stack([stream[a : a + T + 1] for a in at])
    logits = lm(chunk[:, :-1])
    target = chunk[:, 1:]
    loss = F.cross_entropy(logits.transpose(0, 1).reshape(-1, 18), target.reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
