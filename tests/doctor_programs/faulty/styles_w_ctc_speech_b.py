# expect: batch-mixing line 19
import torch
import torch.nn as nn
import torch.nn.functional as F

g = torch.Generator().manual_seed(5)
torch.manual_seed(5)
VOCAB, BLANK, T, B = 8, 0, 20, 6


class Recognizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Conv1d(10, 24, 3, padding=1)
        self.rnn = nn.GRU(24, 24, bidirectional=True)
        self.out = nn.Linear(48, VOCAB)

    def forward(self, x):  # x: (B, 10, T)
        h = torch.relu(self.front(x)).reshape(T, B, -1)
        h, _ = self.rnn(h)
        return self.out(h).log_softmax(-1)


def batches(n):
    for _ in range(n):
        y = torch.randint(1, VOCAB, (B, 5), generator=g)
        x = torch.randn(B, 10, T, generator=g) * 0.1
        for k in range(5):
            for b in range(B):
                x[b, y[b, k], 4 * k : 4 * k + 3] += 1
        yield x, y


net = Recognizer()
criterion = nn.CTCLoss(blank=BLANK, zero_infinity=True)
optimizer = torch.optim.RMSprop(net.parameters(), lr=2e-3)
for n, (x, y) in enumerate(batches(30)):
    logp = net(x)
    loss = criterion(logp, y, torch.full((B,), T), torch.full((B,), 5))
    net.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    optimizer.step()
    if n % 10 == 9:
        print(f"{n}: {float(loss):.3f}")
