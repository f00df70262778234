# expect: missing-requires-grad line 56
import math
import torch
import torch.nn as nn

torch.manual_seed(11)


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r=4, alpha=8):
        super().__init__()
        self.base = base
        self.A = nn.Parameter(torch.randn(r, base.in_features) / math.sqrt(base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
        self.scale = alpha / r

    def forward(self, x):
        return self.base(x) + (x @ self.A.T @ self.B.T) * self.scale


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        h = self.n1(x)
        q, k, v = self.q(h), self.k(h), self.v(h)
        att = (q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))).softmax(-1)
        x = x + self.o(att @ v)
        return x + self.ff(self.n2(x))


class Tiny(nn.Module):
    def __init__(self, vocab=20, d=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.blocks = nn.Sequential(Block(d), Block(d))
        self.head = nn.Linear(d, 2)

    def forward(self, ids):
        return self.head(self.blocks(self.emb(ids)).mean(1))


def inject(model, names=("q", "v")):
    for block in model.blocks:
        for name in names:
            setattr(block, name, LoRALinear(getattr(block, name)))
    return model


def mark_trainable(model):
    for name, p in model.named_parameters():
        p.requires_grad = "lora_" in name or name.startswith("head")


ids = torch.randint(0, 20, (200, 6))
labels = (ids[:, 0] > ids[:, 1]).long()
model = inject(Tiny())
mark_trainable(model)
lora = [p for n, p in model.named_parameters() if n.endswith((".A", ".B")) or n.startswith("head")]
optimizer = torch.optim.AdamW(lora, lr=5e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(6):
    for b in range(0, 200, 40):
        optimizer.zero_grad(set_to_none=True)
        loss = loss_fn(model(ids[b : b + 40]), labels[b : b + 40])
        loss.backward()
        optimizer.step()
print(loss.item())
