# expect: nothing
import torch
import torch.nn as nn

torch.manual_seed(12)


class Frozen(nn.Module):
    def __init__(self, vocab=30, d=32):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.enc = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True), 2, enable_nested_tensor=False)
        self.cls = nn.Linear(d, 3)

    def encode(self, emb):
        return self.cls(self.enc(emb)[:, 0])


class SoftPrompt(nn.Module):
    def __init__(self, backbone, length=4):
        super().__init__()
        self.backbone = backbone
        init = backbone.tok.weight[:length].detach().clone()
        self.prompt = nn.Parameter(init)

    def forward(self, ids):
        with torch.no_grad():
            words = self.backbone.tok(ids)
        pre = self.prompt.unsqueeze(0).expand(ids.size(0), -1, -1)
        both = torch.cat([pre, words], 1)
        logits = self.backbone.encode(both)
        return logits


backbone = Frozen()
for p in backbone.parameters():
    p.requires_grad_(False)
model = SoftPrompt(backbone)
opt = torch.optim.Adam([model.prompt], lr=0.05)
ids = torch.randint(0, 30, (60, 5))
y = ids.sum(1) % 3
for step in range(15):
    loss = nn.functional.cross_entropy(model(ids), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
