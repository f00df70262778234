"""A vision transformer with a class token and an MLP-Mixer, written with Rearrange-like modules."""

from functools import partial


def main(torch):
    nn = torch.nn
    torch.manual_seed(31)

    class PatchEmbed(nn.Module):
        def __init__(self, img_size=12, patch_size=4, in_chans=1, embed_dim=16):
            super().__init__()
            self.num_patches = (img_size // patch_size) ** 2
            self.proj = nn.Conv2d(in_chans, embed_dim, kernel_size=patch_size, stride=patch_size)

        def forward(self, x):
            return self.proj(x).flatten(2).transpose(1, 2)

    class DropPath(nn.Module):
        """Stochastic depth per sample."""

        def __init__(self, drop_prob=0.0):
            super().__init__()
            self.drop_prob = drop_prob

        def forward(self, x):
            if self.drop_prob == 0.0 or not self.training:
                return x
            keep_prob = 1 - self.drop_prob
            shape = (x.shape[0],) + (1,) * (x.ndim - 1)
            random_tensor = x.new_empty(shape).bernoulli_(keep_prob)
            return x * random_tensor.div_(keep_prob)

        def extra_repr(self):
            return f"drop_prob={round(self.drop_prob, 3):0.3f}"

    class Attention(nn.Module):
        def __init__(self, dim, num_heads=2, qkv_bias=True):
            super().__init__()
            self.num_heads = num_heads
            self.scale = (dim // num_heads) ** -0.5
            self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
            self.proj = nn.Linear(dim, dim)

        def forward(self, x):
            B, N, C = x.shape
            qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            attn = (q * self.scale) @ k.transpose(-2, -1)
            attn = attn.softmax(dim=-1)
            return self.proj((attn @ v).transpose(1, 2).reshape(B, N, C))

    class Block(nn.Module):
        def __init__(self, dim, drop_path=0.0, norm_layer=nn.LayerNorm, init_values=0.1):
            super().__init__()
            self.norm1, self.attn = norm_layer(dim), Attention(dim)
            self.drop_path = DropPath(drop_path) if drop_path > 0.0 else nn.Identity()
            self.norm2 = norm_layer(dim)
            self.mlp = nn.Sequential(
                nn.Linear(dim, 2 * dim), nn.GELU("tanh"), nn.Linear(2 * dim, dim)
            )
            self.gamma = nn.Parameter(init_values * torch.ones(dim))

        def forward(self, x):
            x = x + self.drop_path(self.gamma * self.attn(self.norm1(x)))
            return x + self.drop_path(self.mlp(self.norm2(x)))

    class VisionTransformer(nn.Module):
        def __init__(self, depth=2, dim=16, num_classes=4):
            super().__init__()
            norm_layer = partial(nn.LayerNorm, eps=1e-6)
            self.patch_embed = PatchEmbed(embed_dim=dim)
            self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
            self.pos_embed = nn.Parameter(torch.zeros(1, self.patch_embed.num_patches + 1, dim))
            dpr = [x.item() for x in torch.linspace(0, 0.3, depth)]
            self.blocks = nn.Sequential(
                *[Block(dim, drop_path=dpr[i], norm_layer=norm_layer) for i in range(depth)]
            )
            self.norm = norm_layer(dim)
            self.head = nn.Linear(dim, num_classes)
            nn.init.trunc_normal_(self.pos_embed, std=0.02)
            nn.init.trunc_normal_(self.cls_token, std=0.02)

        def forward(self, x):
            x = self.patch_embed(x)
            x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1)
            return self.head(self.norm(self.blocks(x + self.pos_embed))[:, 0])

    class MixerBlock(nn.Module):
        def __init__(self, tokens, dim):
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
            self.token = nn.Sequential(nn.Linear(tokens, 8), nn.GELU(), nn.Dropout(0.1),
                                       nn.Linear(8, tokens))  # fmt: skip
            self.channel = nn.Sequential(nn.Linear(dim, 24), nn.Hardswish(), nn.Linear(24, dim))

        def forward(self, x):
            x = x + self.token(self.ln1(x).mT).mT
            return x + self.channel(self.ln2(x))

    class Mixer(nn.Module):
        def __init__(self, dim=16):
            super().__init__()
            self.patch = nn.Sequential(nn.Unfold(4, stride=4), nn.Flatten(2))
            self.embed = nn.LazyLinear(dim)
            self.mixers = nn.ModuleList(MixerBlock(9, dim) for _ in range(2))
            self.head = nn.Linear(dim, 4)

        def forward(self, x):
            x = self.embed(self.patch(x).transpose(1, 2))
            for mixer in self.mixers:
                x = mixer(x)
            return self.head(x.mean(dim=1))

    images = 0.3 * torch.randn(32, 1, 12, 12)
    labels = torch.arange(32) % 4
    for i in range(32):
        images[i, 0, 3 * labels[i] : 3 * labels[i] + 3] += 1
    out = {}
    mixer = Mixer()
    mixer(images[:1])
    for name, model in [("vit", VisionTransformer()), ("mixer", mixer)]:
        opt = torch.optim.NAdam(
            model.parameters(), lr=3e-3, weight_decay=0.05, decoupled_weight_decay=True
        )
        sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, total_steps=12)
        curve = []
        for step in range(12):
            model.train()
            lam = torch.distributions.Beta(0.8, 0.8).sample().item()
            perm = torch.randperm(32)
            mixed = lam * images + (1 - lam) * images[perm]
            target = nn.functional.one_hot(labels, 4).float()
            target = lam * target + (1 - lam) * target[perm]
            loss = nn.functional.cross_entropy(model(mixed), target)
            loss.backward()
            opt.step()
            sched.step()
            opt.zero_grad()
            curve.append((loss.item(), lam, sched.get_last_lr()[0]))
        model.eval()
        with torch.no_grad():
            out[name] = [curve, model(images).argmax(1), str(model)]
    return out
