"""Monte Carlo: Metropolis, Langevin, Hamiltonian, importance and rejection sampling, SVGD."""

import math


def main(torch):
    g = torch.Generator().manual_seed(203)

    def log_density(x):
        a = -0.5 * ((x - 1.5) ** 2).sum(-1)
        b = -0.5 * ((x + 1.5) ** 2).sum(-1) / 0.5
        return torch.logaddexp(a, b)

    def score(x):
        x = x.detach().requires_grad_(True)
        return torch.autograd.grad(log_density(x).sum(), x)[0]

    x, accepted, chain = torch.zeros(2), 0, []
    for _ in range(40):
        proposal = x + 0.8 * torch.randn(2, generator=g)
        if torch.rand((), generator=g).log() < log_density(proposal) - log_density(x):
            x, accepted = proposal, accepted + 1
        chain.append(x)
    langevin = torch.randn(8, 2, generator=g)
    for _ in range(20):
        langevin = (
            langevin + 0.05 * score(langevin) + math.sqrt(0.1) * torch.randn(8, 2, generator=g)
        )
    q = torch.ones(2)
    energies = []
    for _ in range(5):
        p = torch.randn(2, generator=g)
        start = -log_density(q) + p.dot(p) / 2
        qn, pn = q.clone(), p + 0.1 * score(q)
        for step in range(10):
            qn = qn + 0.2 * pn
            pn = pn + (0.2 if step < 9 else 0.1) * score(qn)
        end = -log_density(qn) + pn.dot(pn) / 2
        if torch.rand(1, generator=g).item() < torch.exp(start - end).item():
            q = qn
        energies.append((end - start).item())
    particles = torch.randn(10, 2, generator=g)
    for _ in range(10):
        sq = torch.cdist(particles, particles) ** 2
        h = sq.median() / math.log(11)
        K = torch.exp(-sq / h)
        repulse = 2 / h * (particles * K.sum(1, keepdim=True) - K @ particles)
        particles = particles + 0.2 * (K @ score(particles) + repulse) / 10
    u = torch.rand(500, 2, generator=g)
    pi = 4 * (u.square().sum(1) < 1).double().mean()
    z = torch.randn(400, generator=g) * 2
    weights = torch.softmax(-0.5 * (z - 1) ** 2 + z**2 / 8, 0)
    ess = 1 / weights.pow(2).sum()
    cdf = weights.cumsum(0)
    resampled = torch.searchsorted(cdf, (torch.arange(10) + torch.rand(1, generator=g)) / 10)
    spins = torch.randint(0, 2, (8, 8), generator=g) * 2 - 1
    board = (torch.arange(8)[:, None] + torch.arange(8)) % 2 == 0
    for sweep in range(6):
        field = sum(spins.roll(s, d) for s in (-1, 1) for d in (0, 1))
        flip = torch.rand(8, 8, generator=g) < torch.sigmoid(-2 * 0.44 * spins * field)
        spins = torch.where(flip & (board if sweep % 2 else ~board), -spins, spins)
    return {
        "chain": torch.stack(chain),
        "accepted": accepted,
        "langevin": langevin,
        "q": q,
        "energies": energies,
        "particles": particles,
        "pi": pi,
        "ess": ess,
        "mean": (weights * z).sum(),
        "resampled": resampled,
        "spins": spins,
        "magnet": spins.float().mean(),
    }
