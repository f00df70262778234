# expect: nothing
from dataclasses import dataclass, field
import torch
from torch import nn, Tensor
import torch.nn.functional as F


@dataclass
class Config:
    n_users: int = 60
    n_items: int = 80
    dim: int = 16
    batch: int = 32
    temperature: float = 0.1
    steps: int = 40
    lr: float = 5e-3
    seed: int = 11


class Tower(nn.Module):
    def __init__(self, n: int, dim: int) -> None:
        super().__init__()
        self.table = nn.Embedding(n, dim)
        self.proj = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))

    def forward(self, ids: Tensor) -> Tensor:
        return F.normalize(self.proj(self.table(ids)), dim=-1)


class Retrieval(nn.Module):
    def __init__(self, cfg: Config) -> None:
        super().__init__()
        self.cfg = cfg
        self.users = Tower(cfg.n_users, cfg.dim)
        self.items = Tower(cfg.n_items, cfg.dim)
        self.log_t = nn.Parameter(torch.tensor(float(cfg.temperature)).log())

    def scores(self, u: Tensor, i: Tensor) -> Tensor:
        return self.users(u) @ self.items(i).T / self.log_t.exp()

    def loss(self, u: Tensor, i: Tensor) -> Tensor:
        s = self.scores(u, i)
        labels = torch.arange(len(u))
        return 0.5 * (F.cross_entropy(s, labels) + F.cross_entropy(s.T, labels))


def interactions(cfg: Config) -> tuple[Tensor, Tensor]:
    u = torch.randint(0, cfg.n_users, (2000,))
    i = (u * 7 + torch.randint(0, 3, (2000,))) % cfg.n_items
    return u, i


def main(cfg: Config) -> None:
    torch.manual_seed(cfg.seed)
    model = Retrieval(cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=1e-4)
    u, i = interactions(cfg)
    for step in range(cfg.steps):
        pick = torch.randint(0, len(u), (cfg.batch,))
        loss = model.loss(u[pick], i[pick])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        if step % 10 == 0:
            print(step, round(loss.item(), 3))


if __name__ == "__main__":
    main(Config())
