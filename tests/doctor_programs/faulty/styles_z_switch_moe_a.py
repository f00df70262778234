# expect: batch-mixing line 27
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)


class Expert(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.up, self.down = nn.Linear(d, h), nn.Linear(h, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class SwitchLayer(nn.Module):
    def __init__(self, d, h, n):
        super().__init__()
        self.n = n
        self.gate = nn.Linear(d, n, bias=False)
        self.experts = nn.ModuleList(Expert(d, h) for _ in range(n))

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        probs = F.softmax(self.gate(flat), dim=0)
        weight, index = probs.max(dim=-1)
        out = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            chosen = (index == i).nonzero().squeeze(1)
            if len(chosen):
                out = out.index_add(0, chosen, weight[chosen, None] * expert(flat[chosen]))
        share = F.one_hot(index, self.n).float().mean(0)
        aux = self.n * (share * probs.mean(0)).sum()
        return out.view_as(x), aux


class Model(nn.Module):
    def __init__(self, vocab=20, d=24):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.norm = nn.LayerNorm(d)
        self.moe = SwitchLayer(d, 48, 4)
        self.head = nn.Linear(d, vocab)

    def forward(self, ids):
        h = self.tok(ids)
        out, aux = self.moe(self.norm(h))
        return self.head(h + out), aux


model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
losses = []
for it in range(40):
    start = torch.randint(0, 20, (16, 1))
    seq = (start + 3 * torch.arange(9)) % 20
    logits, aux = model(seq[:, :-1])
    loss = F.cross_entropy(logits.transpose(1, 2), seq[:, 1:]) + 0.01 * aux
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
