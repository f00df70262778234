"""Every random function, seeded: the numbers themselves are compared."""


def main(torch):
    F = torch.nn.functional
    out = {}
    torch.manual_seed(123)
    out["basic"] = [
        torch.rand(5),
        torch.randn(5),
        torch.randn(20),
        torch.randint(10, (6,)),
        torch.randint(-3, 4, (2, 3)),
        torch.randperm(9),
        torch.rand(3, dtype=torch.float64),
        torch.randn(3, dtype=torch.float64),
        torch.randn(17, dtype=torch.float64),
    ]
    out["like"] = [
        torch.rand_like(torch.ones(3)),
        torch.randn_like(torch.ones(2, 2)),
        torch.randint_like(torch.zeros(4), 7),
        torch.randint_like(torch.zeros(3), 2, 5),
    ]
    out["half"] = [
        torch.rand(4, dtype=torch.float16),
        torch.randn(4, dtype=torch.bfloat16),
        torch.randn(2, dtype=torch.cfloat),
    ]
    z = torch.zeros(6)
    out["fill"] = [
        z.clone().uniform_(-1, 1),
        z.clone().normal_(2, 0.5),
        z.clone().exponential_(1.5),
        z.clone().geometric_(0.3),
        z.clone().cauchy_(),
        z.clone().log_normal_(),
        z.clone().random_(),
        z.clone().random_(5),
        z.clone().random_(2, 9),
        z.clone().bernoulli_(0.4),
        z.clone().bernoulli_(torch.linspace(0, 1, 6)),
    ]
    out["draws"] = [
        torch.bernoulli(torch.full((5,), 0.5)),
        torch.poisson(torch.full((5,), 3.0)),
        torch.normal(torch.zeros(3), torch.ones(3)),
        torch.normal(1.0, torch.ones(3)),
        torch.normal(torch.zeros(2), 2.0),
        torch.normal(0.0, 1.0, size=(2, 2)),
        torch.multinomial(torch.tensor([0.1, 0.2, 0.7]), 2),
        torch.multinomial(torch.ones(2, 4), 6, replacement=True),
        torch.binomial(torch.full((4,), 10.0), torch.full((4,), 0.3)),
    ]
    x = torch.ones(3, 4)
    out["dropout"] = [
        F.dropout(x, 0.5),
        F.dropout(x, 0.2),
        F.dropout1d(x, 0.5),
        F.dropout2d(x[None], 0.5),
        F.alpha_dropout(x, 0.3, training=True),
        F.feature_alpha_dropout(x, 0.5, True),
    ]
    out["gumbel"] = [F.gumbel_softmax(x, tau=0.5), F.gumbel_softmax(x, hard=True)]
    out["rrelu"] = F.rrelu(-x, training=True)
    state = torch.get_rng_state()
    first = torch.randn(4)
    torch.set_rng_state(state)
    out["again"] = [
        first,
        torch.randn(4),
        torch.equal(first, torch.randn(4)),
        state.dtype,
        state.shape,
    ]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        inside = torch.rand(2)
    out["forked"] = [inside, torch.rand(2)]
    g = torch.Generator()
    g.manual_seed(7)
    snapshot = g.get_state()
    out["generator"] = [
        torch.rand(3, generator=g),
        torch.randperm(5, generator=g),
        g.initial_seed(),
        torch.empty(3).normal_(generator=g),
        torch.randint(0, 9, (3,), generator=g),
    ]
    g.set_state(snapshot)
    out["restored"] = torch.rand(3, generator=g)
    out["seeds"] = [torch.initial_seed(), torch.manual_seed(5).initial_seed(), g.device.type]
    out["large"] = [
        torch.randn(1000).mean().item(),
        torch.rand(10000).sum().item(),
        torch.randperm(1000).float().std().item(),
        torch.randint(0, 2**40, (3,)),
    ]
    torch.manual_seed(2**40)
    out["big_seed"] = torch.rand(2)
    torch.manual_seed(-1)
    out["negative_seed"] = torch.rand(2)
    weight = torch.empty(4, 3)
    bound = (6 / 7) ** 0.5
    out["xavier"] = weight.uniform_(-bound, bound).clone()
    out["truncated"] = torch.fmod(weight.normal_(), 2)
    out["strided"] = torch.zeros(4, 3).t().normal_()
    rows = torch.rand(3, 5).argsort(-1)[:, :2]
    out["batch_choice"] = rows
    return out
