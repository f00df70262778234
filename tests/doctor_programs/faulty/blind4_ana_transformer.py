# expect: accumulation-not-averaged line 31, 32, 34

import torch
import torch.nn as nn


class TinyTF(nn.Module):
    def __init__(self, vocab=16, d=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.pos = nn.Parameter(torch.randn(1, 12, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, 2, 64, dropout=0.0, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 1)
        self.out = nn.Linear(d, vocab)

    def forward(self, t):
        return self.out(self.enc(self.emb(t) + self.pos[:, : t.shape[1]]))


def main():
    torch.manual_seed(0)
    model = TinyTF()
    opt = torch.optim.SGD(model.parameters(), lr=0.02)
    n_micro = 4
    for step in range(25):
        opt.zero_grad()
        running = 0.0
        for _ in range(n_micro):
            t = torch.randint(0, 16, (8, 12))
            logits = model(t)
            loss = nn.functional.cross_entropy(logits.reshape(-1, 16), t.flip(1).reshape(-1))
            loss.backward()
            running += loss.item() / n_micro
        opt.step()
        if step % 5 == 0:
            print(step, running)


main()
