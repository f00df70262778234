# expect: retain-graph-misuse line 21
text = "the quick brown fox jumps over the lazy dog and then it sleeps in the warm sun " * 12
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(33)
chars = sorted(set(text)); stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
B, L, H = 4, 10, 32
stream = data[: len(data) // B * B].view(B, -1)
emb = nn.Embedding(len(chars), H)
cell = nn.RNN(H, H, batch_first=True)
head = nn.Linear(H, len(chars))
params = [p for m in (emb, cell, head) for p in m.parameters()]
opt = torch.optim.Adam(params, lr=3e-3)
h = torch.zeros(1, B, H)
for i in range(0, stream.shape[1] - L - 1, L):
    xb, yb = stream[:, i : i + L], stream[:, i + 1 : i + 1 + L]
    out, h_new = cell(emb(xb), h.detach())
    loss = F.cross_entropy(head(out).transpose(1, 2), yb)
    h = h_new.detach()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()
print(loss.item())
