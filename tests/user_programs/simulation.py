"""Physics by tensors: heat, waves, n-body, springs; gradients through the simulation; rendering."""


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(207)
    field = torch.zeros(1, 1, 12, 12)
    field[..., 4:7, 5:8] = 1.0
    source = field.clone().requires_grad_()
    laplace = torch.tensor([[0.0, 1, 0], [1, -4, 1], [0, 1, 0]]).view(1, 1, 3, 3)
    u = source
    for _ in range(10):
        u = u + 0.2 * F.conv2d(F.pad(u, [1] * 4, mode="circular"), laplace)
    u.var().backward()

    wave, before = torch.sin(torch.linspace(0, torch.pi, 20)), None
    before = wave.clone()
    for _ in range(15):
        curv = torch.zeros_like(wave)
        curv[1:-1] = wave[2:] - 2 * wave[1:-1] + wave[:-2]
        wave, before = 2 * wave - before + 0.25 * curv, wave

    pos = torch.randn(4, 3, dtype=torch.float64)
    vel = torch.zeros_like(pos, requires_grad=True)
    mass = torch.rand(4, dtype=torch.float64) + 0.5
    p, v = pos.clone(), vel
    for _ in range(10):
        r = p[None] - p[:, None]
        inv = (r.square().sum(-1) + 0.1).pow(-1.5)
        v = v + 0.02 * torch.einsum("ij,ijk,j->ik", inv, r, mass)
        p = p + 0.02 * v
    kinetic = 0.5 * (mass[:, None] * v**2).sum()
    kinetic.backward()

    # Lagrangian: equations of motion of a pendulum from its energy.
    def lagrangian(q, qd):
        return 0.5 * qd.pow(2).sum() + q.cos().sum()

    q = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    qd = torch.tensor([0.1], dtype=torch.float64, requires_grad=True)
    L = lagrangian(q, qd)
    dLdq, dLdqd = torch.autograd.grad(L, (q, qd), create_graph=True)
    (mass_matrix,) = torch.autograd.grad(dLdqd.sum(), qd, retain_graph=True)
    acceleration = (dLdq / mass_matrix).detach()

    # A sphere, shaded; the gradient says where to move it.
    ys, xs = torch.meshgrid(torch.linspace(-1, 1, 9), torch.linspace(-1, 1, 9), indexing="ij")
    rays = F.normalize(torch.stack([xs, ys, torch.ones_like(xs)], -1), dim=-1)
    center = torch.tensor([0.1, 0.0, 3.0], requires_grad=True)
    along = (rays * center).sum(-1)
    disc = along.square() - center.dot(center) + 1.0
    hit = disc > 0
    depth = along - torch.where(hit, disc, 1.0).sqrt()
    normal = rays * depth[..., None] - center
    light = F.normalize(torch.tensor([-1.0, -1.0, -1.0]), dim=0)
    image = torch.where(hit, (normal @ light).clamp(min=0), 0.0)
    image.mean().backward()
    samples = torch.linspace(2, 4, 8)
    density = F.softplus(
        4 - 4 * (rays[..., None, :] * samples[:, None] - center.detach()).norm(dim=-1)
    )
    alpha = 1 - torch.exp(-density * 0.25)
    trans = torch.cumprod(torch.cat([torch.ones_like(alpha[..., :1]), 1 - alpha + 1e-10], -1), -1)
    volume = (alpha * trans[..., :-1] * samples).sum(-1)
    return {
        "u": u,
        "source": source.grad,
        "wave": wave,
        "p": p,
        "vel": vel.grad,
        "image": image,
        "acc": acceleration,
        "center": center.grad,
        "volume": volume,
        "hits": hit.sum(),
    }
