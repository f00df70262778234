"""SimCLR, BYOL and MoCo on noisy vectors: EMA targets, queues as buffers, cosine restarts."""

import copy
import math


def main(torch):
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(0)
    anchors = torch.randn(48, 12)

    def views(x):
        drop = nn.Dropout(0.2)
        return drop(x + 0.1 * torch.randn_like(x)), drop(x * (0.8 + 0.4 * torch.rand(len(x), 1)))

    def backbone():
        return nn.Sequential(nn.Linear(12, 24), nn.BatchNorm1d(24), nn.ReLU(inplace=True),
                             nn.Linear(24, 8, bias=False))  # fmt: skip

    # SimCLR: NT-Xent over 2N views.
    class NTXent(nn.Module):
        def __init__(self, temperature=0.5):
            super().__init__()
            self.t = temperature
            self.criterion = nn.CrossEntropyLoss(reduction="sum")
            self.similarity_f = nn.CosineSimilarity(dim=2)

        def forward(self, z_i, z_j):
            n = z_i.shape[0]
            N = 2 * n
            z = torch.cat((z_i, z_j), dim=0)
            sim = self.similarity_f(z.unsqueeze(1), z.unsqueeze(0)) / self.t
            mask = torch.ones((N, N), dtype=bool).fill_diagonal_(0)
            for i in range(n):
                mask[i, n + i] = 0
                mask[n + i, i] = 0
            positive = torch.cat((torch.diag(sim, n), torch.diag(sim, -n)), dim=0).reshape(N, 1)
            negative = sim[mask].reshape(N, -1)
            labels = torch.zeros(N).long()
            return self.criterion(torch.cat((positive, negative), dim=1), labels) / N

    net, crit = backbone(), NTXent()
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)
    sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=4, T_mult=2)
    simclr, lrs = [], []
    for step in range(12):
        a, b = views(anchors[torch.randperm(48)[:12]])
        loss = crit(net(a), net(b))
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        simclr.append(loss.item())
        lrs.append(opt.param_groups[0]["lr"])

    # BYOL: a predictor and a target that follows by EMA.
    class BYOL(nn.Module):
        def __init__(self):
            super().__init__()
            self.online = backbone()
            self.predictor = nn.Sequential(nn.Linear(8, 16), nn.PReLU(), nn.Linear(16, 8))
            self.target = copy.deepcopy(self.online)
            for p in self.target.parameters():
                p.requires_grad_(False)

        @torch.no_grad()
        def update(self, tau):
            for o, t in zip(self.online.parameters(), self.target.parameters()):
                t.data = tau * t.data + (1 - tau) * o.data
            for o, t in zip(self.online.buffers(), self.target.buffers()):
                t.copy_(o)

        def forward(self, a, b):
            def loss_fn(x, y):
                return 2 - 2 * (F.normalize(x, dim=-1) * F.normalize(y, dim=-1)).sum(dim=-1)

            pa, pb = self.predictor(self.online(a)), self.predictor(self.online(b))
            with torch.no_grad():
                ta, tb = self.target(a), self.target(b)
            return (loss_fn(pa, tb.detach()) + loss_fn(pb, ta.detach())).mean()

    byol_model = BYOL()
    opt = torch.optim.Adam([p for p in byol_model.parameters() if p.requires_grad], lr=3e-3)
    byol = []
    for step in range(10):
        loss = byol_model(*views(anchors))
        opt.zero_grad()
        loss.backward()
        opt.step()
        byol_model.update(1 - 0.01 * (math.cos(math.pi * step / 10) + 1) / 2)
        byol.append(loss.item())

    # MoCo: a queue of keys in a buffer.
    class MoCo(nn.Module):
        def __init__(self, K=32, m=0.9, T=0.2):
            super().__init__()
            self.K, self.m, self.T = K, m, T
            self.encoder_q, self.encoder_k = backbone(), backbone()
            for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
                param_k.data.copy_(param_q.data)
                param_k.requires_grad = False
            self.register_buffer("queue", torch.randn(8, K))
            self.queue = nn.functional.normalize(self.queue, dim=0)
            self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

        @torch.no_grad()
        def _momentum_update_key_encoder(self):
            for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
                param_k.data = param_k.data * self.m + param_q.data * (1.0 - self.m)

        @torch.no_grad()
        def _dequeue_and_enqueue(self, keys):
            ptr = int(self.queue_ptr)
            self.queue[:, ptr : ptr + len(keys)] = keys.T
            self.queue_ptr[0] = (ptr + len(keys)) % self.K

        def forward(self, im_q, im_k):
            q = nn.functional.normalize(self.encoder_q(im_q), dim=1)
            with torch.no_grad():
                self._momentum_update_key_encoder()
                idx_shuffle = torch.randperm(len(im_k))
                k = self.encoder_k(im_k[idx_shuffle])
                k = nn.functional.normalize(k, dim=1)[torch.argsort(idx_shuffle)]
            l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
            l_neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
            logits = torch.cat([l_pos, l_neg], dim=1) / self.T
            self._dequeue_and_enqueue(k)
            return logits, torch.zeros(logits.shape[0], dtype=torch.long)

    moco_model = MoCo()
    opt = torch.optim.SGD(moco_model.encoder_q.parameters(), 0.05, momentum=0.9)
    moco, acc = [], []
    for step in range(10):
        out, target = moco_model(*views(anchors[(step % 3) * 16 : (step % 3 + 1) * 16]))
        loss = F.cross_entropy(out, target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        moco.append(loss.item())
        acc.append((out.argmax(1) == target).float().mean().item())
    return {
        "simclr": simclr,
        "lrs": lrs,
        "byol": byol,
        "moco": moco,
        "acc": acc,
        "ptr": moco_model.queue_ptr,
        "queue_norms": moco_model.queue.norm(dim=0),
        "keys": list(moco_model.state_dict().keys()),
    }
