"""A variational autoencoder: reparameterisation, KL in closed form, Bernoulli likelihood."""


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(20)
    base = (torch.rand(4, 16) > 0.5).float()
    x = base[torch.randint(4, (32,))]
    x = torch.where(torch.rand_like(x) < 0.05, 1 - x, x)

    def linear(i, o):
        bound = i**-0.5
        w = torch.empty(o, i).uniform_(-bound, bound).requires_grad_()
        return w, torch.zeros(o, requires_grad=True)

    enc, mu_head, lv_head = linear(16, 12), linear(12, 2), linear(12, 2)
    dec1, dec2 = linear(2, 12), linear(12, 16)
    params = [p for layer in (enc, mu_head, lv_head, dec1, dec2) for p in layer]
    square_avg = [torch.full_like(p, 0.0) for p in params]
    losses, kls = [], []
    for step in range(30):
        h = F.softplus(F.linear(x, *enc))
        mu, logvar = F.linear(h, *mu_head), F.linear(h, *lv_head)
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        z = mu + eps * std
        recon = torch.sigmoid(F.linear(F.elu(F.linear(z, *dec1)), *dec2))
        bce = F.binary_cross_entropy(recon, x, reduction="sum")
        kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss = (bce + kld) / len(x)
        grads = torch.autograd.grad(loss, params)
        with torch.no_grad():
            for p, g, s in zip(params, grads, square_avg):
                s.mul_(0.9).addcmul_(g, g, value=0.1)
                p.addcdiv_(g, s.sqrt().add_(1e-3), value=-5e-3)
        losses.append(loss.item())
        kls.append(kld.item())
    with torch.no_grad():
        grid = torch.cartesian_prod(torch.linspace(-2, 2, 3), torch.linspace(-2, 2, 3))
        decoded = torch.sigmoid(F.linear(F.elu(F.linear(grid, *dec1)), *dec2))
    return {"losses": losses, "kls": kls, "decoded": decoded, "x": x}
