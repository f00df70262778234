# expect: vanishing-gradient line 23, 40
import torch
import torch.nn.functional as F

g = torch.Generator().manual_seed(2147483647)
words = ["emma", "olivia", "ava", "isabella", "sophia", "mia", "amelia", "harper", "evelyn", "luna", "ella", "aria"]
chars = sorted(set("".join(words)))
stoi = {s: i + 1 for i, s in enumerate(chars)}
stoi["."] = 0
vocab = len(stoi)
block_size = 3
X, Y = [], []
for w in words:
    context = [0] * block_size
    for ch in w + ".":
        X.append(context)
        Y.append(stoi[ch])
        context = context[1:] + [stoi[ch]]
X, Y = torch.tensor(X), torch.tensor(Y)

n_embd, n_hidden = 10, 64
C = torch.randn((vocab, n_embd), generator=g)
W1 = torch.randn((n_embd * block_size, n_hidden), generator=g) * 30.0
bngain = torch.ones((1, n_hidden))
bnbias = torch.zeros((1, n_hidden))
W2 = torch.randn((n_hidden, vocab), generator=g) * 0.01
b2 = torch.zeros(vocab)
bnmean_running = torch.zeros((1, n_hidden))
bnstd_running = torch.ones((1, n_hidden))
parameters = [C, W1, W2, b2]
for p in parameters:
    p.requires_grad = True

lossi = []
for i in range(120):
    ix = torch.randint(0, X.shape[0], (32,), generator=g)
    Xb, Yb = X[ix], Y[ix]
    emb = C[Xb]
    hpreact = emb.view(emb.shape[0], -1) @ W1
    h = torch.tanh(hpreact)
    logits = h @ W2 + b2
    loss = F.cross_entropy(logits, Yb)
    for p in parameters:
        p.grad = None
    loss.backward()
    lr = 0.1 if i < 80 else 0.01
    for p in parameters:
        p.data += -lr * p.grad
    lossi.append(loss.log10().item())
print(loss.item())
