# expect: batch-mixing line 15

import torch
import torch.nn as nn


class RNNClf(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(5, 16)  # (T, B, F)
        self.fc = nn.Linear(16, 3)

    def forward(self, x):  # x: (B, T, F)
        B, T, Fd = x.shape
        x = x.reshape(T, B, Fd)
        out, h = self.rnn(x)  # noqa: RUF059
        return self.fc(h[-1])


def main():
    torch.manual_seed(0)
    m = RNNClf()
    opt = torch.optim.Adam(m.parameters(), lr=3e-3)
    for it in range(50):
        x = torch.randn(16, 8, 5)
        y = x.mean(1)[:, :3].argmax(1)
        opt.zero_grad()
        loss = nn.functional.cross_entropy(m(x), y)
        loss.backward()
        opt.step()
        if it % 10 == 0:
            print(it, loss.item())


main()
