"""parameters on manifolds: distances in a ball, orthogonal matrices, spheres"""

import geoopt
import torch

torch.manual_seed(0)
ball = geoopt.PoincareBall(c=1.0)
point = geoopt.ManifoldParameter(ball.random(3, 2) * 0.5, manifold=ball)
goal = ball.random(3, 2) * 0.5
optimizer = geoopt.optim.RiemannianAdam([point], lr=1e-1)
for _ in range(4):
    loss = ball.dist(point, goal).pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
stiefel = geoopt.Stiefel()
frame = geoopt.ManifoldParameter(stiefel.random(5, 3), manifold=stiefel)
matrix = torch.randn(5, 5)
descent = geoopt.optim.RiemannianSGD([frame], lr=1e-2, momentum=0.9)
for _ in range(4):
    loss = -(frame.T @ matrix @ matrix.T @ frame).trace()
    descent.zero_grad()
    loss.backward()
    descent.step()
    print(f"{loss.item():.5f}")
sphere = geoopt.Sphere()
print(f"{sphere.logmap(sphere.random(4), sphere.random(4)).norm().item():.5f}")
