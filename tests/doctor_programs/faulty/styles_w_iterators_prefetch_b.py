# expect: step-before-backward line 46
import threading
import queue
import numpy as np
import torch
import torch.nn as nn


class Prefetcher(threading.Thread):
    """Makes batches in another thread."""

    def __init__(self, n, seed):
        super().__init__(daemon=True)
        self.q, self.n, self.rng = queue.Queue(4), n, np.random.default_rng(seed)

    def run(self):
        for _ in range(self.n):
            x = self.rng.normal(size=(32, 6)).astype(np.float32)
            self.q.put((x, np.tanh(x[:, :2] * x[:, 2:4])))
        self.q.put(None)

    def __iter__(self):
        self.start()
        while (item := self.q.get()) is not None:
            yield tuple(torch.from_numpy(v) for v in item)


class Averager:
    def __init__(self, model):
        self.n, self.mean = 0, [p.detach().clone() for p in model.parameters()]

    def update(self, model):
        self.n += 1
        for m, p in zip(self.mean, model.parameters()):
            m += (p.detach() - m) / (self.n + 1)


def main():
    torch.manual_seed(707)
    model = nn.Sequential(nn.Linear(6, 32), nn.Mish(), nn.Linear(32, 2))
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    avg = Averager(model)
    for i, (x, y) in enumerate(Prefetcher(50, 1)):
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        opt.step()
        loss.backward()
        if i > 20:
            avg.update(model)
    print(loss.item(), sum(float((m - p).abs().sum()) for m, p in zip(avg.mean, model.parameters())) > 0)


main()
