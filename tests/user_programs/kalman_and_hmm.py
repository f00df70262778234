"""Time series: a Kalman filter learned by likelihood, an HMM's forward pass, Viterbi, a CRF."""

import math


def main(torch):
    torch.manual_seed(120)
    T = 25
    z = torch.cumsum(0.3 * torch.randn(T, dtype=torch.float64), 0)
    obs = z + 0.5 * torch.randn(T, dtype=torch.float64)
    logs = torch.zeros(2, dtype=torch.float64, requires_grad=True)

    def kalman():
        q, r = logs.exp().unbind()
        mean, var, nll = torch.zeros((), dtype=torch.float64), torch.ones(()).double(), 0.0
        means = []
        for y in obs:
            var = var + q
            s = var + r
            nll = nll + 0.5 * (torch.log(2 * math.pi * s) + (y - mean) ** 2 / s)
            gain = var / s
            mean, var = mean + gain * (y - mean), (1 - gain) * var
            means.append(mean)
        return nll, torch.stack(means)

    curve = []
    for _ in range(10):
        nll, means = kalman()
        logs.grad = None
        nll.backward()
        with torch.no_grad():
            logs.sub_(logs.grad, alpha=0.02)
        curve.append(nll.item())

    S, O = 3, 4
    trans = torch.randn(S, S).log_softmax(1).requires_grad_()
    emit = torch.randn(S, O).log_softmax(1)
    prior = torch.zeros(S).log_softmax(0)
    x = torch.randint(0, O, (12,))
    alpha = prior + emit[:, x[0]]
    delta, back = alpha, []
    for t in x[1:]:
        alpha = torch.logsumexp(alpha[:, None] + trans, dim=0) + emit[:, t]
        delta, best = (delta[:, None] + trans).max(dim=0)
        delta = delta + emit[:, t]
        back.append(best)
    log_likelihood = alpha.logsumexp(0)
    (expected,) = torch.autograd.grad(log_likelihood, trans, retain_graph=True)
    path = [delta.argmax().item()]
    for best in reversed(back):
        path.append(best[path[-1]].item())
    gold = torch.tensor(path[::-1])
    score = trans[gold[:-1], gold[1:]].sum() + emit[gold, x].sum() + prior[gold[0]]
    crf = log_likelihood - score
    return {
        "curve": curve,
        "means": means,
        "ll": log_likelihood,
        "expected": expected,
        "path": path[::-1],
        "crf": crf,
        "crf_grad": torch.autograd.grad(crf, trans)[0],
        "autocorr": torch.stack([(z[k:] * z[: T - k]).mean() for k in range(5)]),
    }
