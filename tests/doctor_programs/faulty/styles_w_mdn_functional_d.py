# expect: missing-requires-grad line 16
"""A mixture density network without modules: parameters in a dictionary, updates by hand."""
import math
import torch

torch.manual_seed(15)
K, H = 4, 24
LR = 0.02


def init():
    def w(*shape):
        return (torch.randn(*shape) / math.sqrt(shape[0])).requires_grad_()

    def b(n):
        return torch.zeros(n)

    return {"w1": w(1, H), "b1": b(H), "w2": w(H, 3 * K), "b2": b(3 * K)}


def forward(p, x):
    h = torch.tanh(x @ p["w1"] + p["b1"])
    pi, mu, s = (h @ p["w2"] + p["b2"]).chunk(3, -1)
    return pi.log_softmax(-1), mu, s


def nll(p, x, y):
    logpi, mu, s = forward(p, x)
    z = (y - mu) * torch.exp(-s)
    logn = -0.5 * z ** 2 - s - 0.5 * math.log(2 * math.pi)
    return -torch.logsumexp(logpi + logn, -1).mean()


def sgd(p, lr):
    with torch.no_grad():
        for k in p:
            if p[k].grad is not None:
                p[k] -= lr * p[k].grad
                p[k].grad = None


params = init()
for step in range(40):
    y = torch.rand(64, 1) * 2 - 1
    x = y + 0.3 * torch.sin(6 * y) + 0.05 * torch.randn(64, 1)
    loss = nll(params, x, y)
    loss.backward()
    sgd(params, LR)
    if step % 10 == 0:
        print(step, loss.item())
