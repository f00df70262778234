# expect: nothing

import clew as torch
import clew.nn as nn


def repackage(h):
    return tuple(v.detach() for v in h)


torch.manual_seed(0)
V = 8
emb, lstm, dec = nn.Embedding(V, 16), nn.LSTM(16, 24), nn.Linear(24, V)
params = [p for m in (emb, lstm, dec) for p in m.parameters()]
opt = torch.optim.SGD(params, lr=0.5)
data = (torch.arange(0, 200).unsqueeze(1) + torch.arange(0, 8)) % V
h = (torch.zeros(1, 8, 24), torch.zeros(1, 8, 24))
for k in range(0, 190, 10):
    h = repackage(h)
    o, h = lstm(emb(data[k : k + 10]), h)
    loss = nn.functional.cross_entropy(dec(o).view(-1, V), data[k + 1 : k + 11].reshape(-1))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(params, 0.25)
    opt.step()
    print(k, loss.item())
