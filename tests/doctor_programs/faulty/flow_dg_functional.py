# expect: detached-graph line 19

import torch
import torch.nn.functional as F

torch.manual_seed(0)


def init(i, o):
    return torch.nn.Parameter(torch.randn(i, o) * 0.2), torch.nn.Parameter(torch.zeros(o))


P = {"emb": torch.nn.Parameter(torch.randn(20, 8)), "h": init(8, 16), "o": init(16, 3)}
flat = [P["emb"], *P["h"], *P["o"]]
opt = torch.optim.Adam(flat, lr=1e-2)


def forward(tok):
    e = P["emb"].data[tok].mean(1)
    h = torch.tanh(e @ P["h"][0] + P["h"][1])
    return h @ P["o"][0] + P["o"][1]


for step in range(30):
    tok = torch.randint(0, 20, (32, 5))
    y = (tok.float().mean(1) // 7).long().clamp(max=2)
    loss = F.cross_entropy(forward(tok), y)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
