"""A transformer with activation checkpointing: equal gradients, dropout replayed, sequential."""


def main(torch):
    nn = torch.nn
    checkpoint = torch.utils.checkpoint.checkpoint
    checkpoint_sequential = torch.utils.checkpoint.checkpoint_sequential

    class Block(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.attn = nn.MultiheadAttention(d, 2, dropout=0.1, batch_first=True)
            self.ff = nn.Sequential(
                nn.Linear(d, 2 * d), nn.SiLU(), nn.Linear(2 * d, d), nn.Dropout(0.1)
            )
            self.n1, self.n2 = nn.RMSNorm(d), nn.RMSNorm(d)

        def forward(self, x, mask=None):
            h = self.n1(x)
            x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
            return x + self.ff(self.n2(x))

    class Model(nn.Module):
        def __init__(self, use_checkpoint, use_reentrant=False):
            super().__init__()
            self.emb = nn.Embedding(11, 12)
            self.blocks = nn.ModuleList([Block(12) for _ in range(3)])
            self.head = nn.Linear(12, 11)
            self.use_checkpoint, self.use_reentrant = use_checkpoint, use_reentrant
            mask = torch.triu(torch.full((7, 7), float("-inf")), diagonal=1)
            self.register_buffer("mask", mask, persistent=False)

        def forward(self, idx):
            x = self.emb(idx)
            for block in self.blocks:
                if self.use_checkpoint and self.training:
                    x = checkpoint(block, x, self.mask, use_reentrant=self.use_reentrant)
                else:
                    x = block(x, mask=self.mask)
            return self.head(x)

    result = {}
    for name, args in {"plain": (False,), "saved": (True,), "reentrant": (True, True)}.items():
        torch.manual_seed(44)
        model = Model(*args)
        opt = torch.optim.Adam(model.parameters(), lr=3e-3)
        curve = []
        for _ in range(5):
            x = torch.randint(0, 11, (4, 7))
            loss = nn.functional.cross_entropy(model(x).transpose(1, 2), x.roll(-1, 1))
            opt.zero_grad()
            loss.backward()
            missing = [n for n, p in model.named_parameters() if p.grad is None]
            opt.step()
            curve.append(loss.item())
        result[name] = [curve, missing, model.head.bias]
    torch.manual_seed(45)
    stack = nn.Sequential(
        *[nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.3), nn.Mish()) for _ in range(4)]
    )
    x = torch.randn(5, 6, requires_grad=True)
    y = checkpoint_sequential(stack, 2, x, use_reentrant=False)
    y.sum().backward()
    result["sequential"] = [y, x.grad, stack[0][0].weight.grad]
    calls = []

    def counted(t):
        calls.append(1)
        return (t.exp() * t).sin()

    z = checkpoint(counted, x[0], use_reentrant=False)
    z.sum().backward()
    result["calls"] = len(calls)
    return result
