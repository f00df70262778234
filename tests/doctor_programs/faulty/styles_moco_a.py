# expect: graph-leak line 56
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)


class MoCo(nn.Module):
    def __init__(self, dim=8, K=64, m=0.95, T=0.2):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, dim))
        self.encoder_k = copy.deepcopy(self.encoder_q)
        for p in self.encoder_k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(K, dim), dim=1))
        self.ptr = 0

    @torch.no_grad()
    def momentum_update(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.data = k.data * self.m + q.data * (1 - self.m)

    @torch.no_grad()
    def enqueue(self, keys):
        n = keys.shape[0]
        self.queue[self.ptr : self.ptr + n] = keys
        self.ptr = (self.ptr + n) % self.K

    def forward(self, xq, xk):
        q = F.normalize(self.encoder_q(xq), dim=1)
        with torch.no_grad():
            self.momentum_update()
            k = F.normalize(self.encoder_k(xk), dim=1)
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ self.queue.clone().t()
        logits = torch.cat([pos, neg], 1) / self.T
        self.enqueue(k.detach())
        return logits, torch.zeros(len(q), dtype=torch.long)


data = torch.randn(256, 12)
model = MoCo()
opt = torch.optim.SGD(model.encoder_q.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
log = {"loss": [], "top1": []}
for epoch in range(4):
    for idx in torch.randperm(256).split(16):
        x = data[idx]
        logits, labels = model(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
        loss = F.cross_entropy(logits, labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
        log["loss"].append(loss)
        log["top1"].append((logits.argmax(1) == labels).float().mean().item())
print(sum(float(v) for v in log["loss"][-8:]) / 8)
