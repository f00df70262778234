"""Spectral norm and weight norm, old and new style; pruning of a trained network."""

import importlib


def main(torch):
    nn, F = torch.nn, torch.nn.functional
    prune = importlib.import_module(torch.__name__ + ".nn.utils.prune")
    parametrize = torch.nn.utils.parametrize
    torch.manual_seed(50)
    result = {}

    # Hinge GAN; the critic has the new spectral norm, the generator weight norm.
    sn, wn = nn.utils.parametrizations.spectral_norm, nn.utils.parametrizations.weight_norm
    G = nn.Sequential(wn(nn.Linear(3, 16)), nn.ReLU(), wn(nn.Linear(16, 2), dim=0))
    D = nn.Sequential(sn(nn.Linear(2, 16)), nn.LeakyReLU(0.1), sn(nn.Linear(16, 1)))
    g_opt = torch.optim.Adam(G.parameters(), 2e-3, (0.5, 0.9))
    d_opt = torch.optim.Adam(D.parameters(), 2e-3, (0.5, 0.9))
    log = []
    for _ in range(10):
        real = torch.randn(20, 2) * torch.tensor([1.0, 0.2]) + 1
        fake = G(torch.randn(20, 3))
        d_loss = F.relu(1 - D(real)).mean() + F.relu(1 + D(fake.detach())).mean()
        d_opt.zero_grad()
        d_loss.backward()
        d_opt.step()
        g_loss = -D(fake).mean()
        g_opt.zero_grad()
        g_loss.backward()
        g_opt.step()
        log.append([d_loss.item(), g_loss.item()])
    D.eval()
    result["gan"] = log
    result["sigma"] = torch.linalg.matrix_norm(D[0].weight, 2).item()
    result["keys"] = [list(G.state_dict()), list(D.state_dict())]
    result["parametrized"] = [parametrize.is_parametrized(m) for m in D]
    parametrize.remove_parametrizations(D[0], "weight")
    result["removed"] = [list(D[0].state_dict()), type(D[0]).__name__]

    # The old spellings still run.
    old = nn.utils.spectral_norm(nn.Conv2d(1, 2, 3), n_power_iterations=2)
    old(torch.randn(1, 1, 5, 5)).mean().backward()
    result["old"] = [old.weight_orig.grad, sorted(old.state_dict())]

    # A parametrization of one's own.
    class Symmetric(nn.Module):
        def forward(self, X):
            return X.triu() + X.triu(1).transpose(-1, -2)

        def right_inverse(self, A):
            return A.triu()

    layer = nn.Linear(4, 4)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    result["symmetric"] = torch.allclose(layer.weight, layer.weight.T)
    layer.weight = torch.eye(4)
    result["assigned"] = layer.weight
    ortho = nn.utils.parametrizations.orthogonal(nn.Linear(4, 3))
    W = ortho.weight
    result["orthogonal"] = torch.dist(W @ W.T, torch.eye(3)).item() < 1e-5

    # Pruning: by random units, by magnitude, globally, with fine-tuning after.
    net = nn.Sequential(nn.Linear(6, 20), nn.Hardtanh(), nn.Linear(20, 2))
    x, y = torch.randn(30, 6), torch.randint(0, 2, (30,))
    opt = torch.optim.SGD(net.parameters(), lr=0.2)

    def fit(steps):
        curve = []
        for _ in range(steps):
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            curve.append(loss.item())
        return curve

    result["before"] = fit(8)
    prune.l1_unstructured(net[0], name="weight", amount=0.3)
    prune.random_unstructured(net[2], name="bias", amount=1)
    prune.ln_structured(net[2], name="weight", amount=0.25, n=2, dim=1)
    opt = torch.optim.SGD(net.parameters(), lr=0.2)
    result["during"] = fit(5)
    result["buffers"] = {n: b for n, b in net.named_buffers()}
    result["sparsity"] = [(m.weight == 0).float().mean().item() for m in (net[0], net[2])]
    prune.global_unstructured(
        [(net[0], "weight"), (net[2], "weight")], pruning_method=prune.L1Unstructured, amount=0.2
    )
    for module in (net[0], net[2]):
        prune.remove(module, "weight")
    result["after"] = [net[0].weight, net[2].weight, prune.is_pruned(net)]
    return result
