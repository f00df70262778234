"""equivariant tensor products, spherical harmonics, gates"""

import torch
from e3nn import o3, nn

torch.manual_seed(0)
irr = o3.Irreps("2x0e + 1x1o")
tp = o3.FullyConnectedTensorProduct(irr, irr, "3x0e + 1x1o + 1x2e")
lin = o3.Linear("3x0e + 1x1o + 1x2e", "1x0e")
opt = torch.optim.Adam([*tp.parameters(), *lin.parameters()], lr=1e-2)
x = torch.randn(6, irr.dim)
sh = o3.spherical_harmonics([0, 1, 2], torch.randn(6, 3), True)
print(f"{sh.sum().item():.4f}")
for _ in range(3):
    l = lin(tp(x, x)).square().mean()
    opt.zero_grad()
    l.backward()
    opt.step()
    print(f"{l.item():.5f}")
g = nn.Gate("2x0e", [torch.tanh], "1x0e", [torch.sigmoid], "1x1o")
print(g(torch.randn(2, g.irreps_in.dim)).shape)
R = o3.rand_matrix()
print(
    f"{(tp(x @ irr.D_from_matrix(R).T, x @ irr.D_from_matrix(R).T) - tp(x, x) @ tp.irreps_out.D_from_matrix(R).T).abs().max().item() < 1e-4}"
)
print(f"{o3.wigner_3j(1, 1, 2).sum().item():.4f}")
mlp = nn.FullyConnectedNet([3, 8, 1], torch.relu)
print(mlp(torch.ones(1, 3)).shape)
