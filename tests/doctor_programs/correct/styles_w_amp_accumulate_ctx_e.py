# expect: nothing
import contextlib
import torch
import torch.nn as nn

torch.manual_seed(77)


@contextlib.contextmanager
def update(optimizer, scaler, params, clip=1.0):
    optimizer.zero_grad(set_to_none=True)
    yield
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(params, clip)
    scaler.step(optimizer)
    scaler.update()


class TextCNN(nn.Module):
    def __init__(self, vocab=30, classes=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, 16)
        self.convs = nn.ModuleList([nn.Conv1d(16, 12, k) for k in (2, 3)])
        self.fc = nn.Linear(24, classes)

    def forward(self, x):
        e = self.emb(x).transpose(1, 2)
        return self.fc(torch.cat([torch.relu(c(e)).amax(-1) for c in self.convs], 1))


def chunks(n=4, size=16):
    for _ in range(n):
        x = torch.randint(0, 30, (size, 9))
        yield x, (x < 6).sum(1).clamp(max=2)


ACCUM = 4
net = TextCNN()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for it in range(15):
    with update(opt, scaler, net.parameters()):
        running = 0.0
        for x, y in chunks(ACCUM):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                out = net(x)
                loss = nn.functional.cross_entropy(out, y) / ACCUM
            scaled = scaler.scale(loss)
            scaled.backward()
            running += loss.item()
    print(it, f"{running:.4f}")
