"""VQ-VAE: nearest codes by cdist, straight-through gradients, EMA codebook, perplexity."""


def main(torch):
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(12)

    class VectorQuantizer(nn.Module):
        def __init__(self, num_embeddings, embedding_dim, commitment_cost):
            super().__init__()
            self._embedding_dim = embedding_dim
            self._num_embeddings = num_embeddings
            self._embedding = nn.Embedding(self._num_embeddings, self._embedding_dim)
            self._embedding.weight.data.uniform_(-1 / num_embeddings, 1 / num_embeddings)
            self._commitment_cost = commitment_cost

        def forward(self, inputs):
            inputs = inputs.permute(0, 2, 3, 1).contiguous()
            input_shape = inputs.shape
            flat_input = inputs.view(-1, self._embedding_dim)
            distances = (
                torch.sum(flat_input**2, dim=1, keepdim=True)
                + torch.sum(self._embedding.weight**2, dim=1)
                - 2 * torch.matmul(flat_input, self._embedding.weight.t())
            )
            encoding_indices = torch.argmin(distances, dim=1).unsqueeze(1)
            encodings = torch.zeros(encoding_indices.shape[0], self._num_embeddings)
            encodings.scatter_(1, encoding_indices, 1)
            quantized = torch.matmul(encodings, self._embedding.weight).view(input_shape)
            e_latent_loss = F.mse_loss(quantized.detach(), inputs)
            q_latent_loss = F.mse_loss(quantized, inputs.detach())
            loss = q_latent_loss + self._commitment_cost * e_latent_loss
            quantized = inputs + (quantized - inputs).detach()
            avg_probs = torch.mean(encodings, dim=0)
            perplexity = torch.exp(-torch.sum(avg_probs * torch.log(avg_probs + 1e-10)))
            return loss, quantized.permute(0, 3, 1, 2).contiguous(), perplexity

    class EMACodebook(nn.Module):
        def __init__(self, k, d, decay=0.9, eps=1e-5):
            super().__init__()
            embed = torch.randn(d, k)
            self.register_buffer("embed", embed)
            self.register_buffer("cluster_size", torch.zeros(k))
            self.register_buffer("embed_avg", embed.clone())
            self.k, self.decay, self.eps = k, decay, eps

        def forward(self, x):
            flat = x.permute(0, 2, 3, 1).reshape(-1, self.embed.shape[0])
            codes = torch.cdist(flat.detach(), self.embed.t()).argmin(-1)
            onehot = F.one_hot(codes, self.k).type_as(flat)
            quant = F.embedding(codes, self.embed.transpose(0, 1))
            if self.training:
                self.cluster_size.data.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
                total = flat.detach().transpose(0, 1) @ onehot
                self.embed_avg.data.mul_(self.decay).add_(total, alpha=1 - self.decay)
                n = self.cluster_size.sum()
                size = (self.cluster_size + self.eps) / (n + self.k * self.eps) * n
                self.embed.data.copy_(self.embed_avg / size.unsqueeze(0))
            quant = quant.view(x.shape[0], x.shape[2], x.shape[3], -1).permute(0, 3, 1, 2)
            diff = (quant.detach() - x).pow(2).mean()
            return 0.25 * diff, x + (quant - x).detach(), codes.unique().numel()

    class Residual(nn.Module):
        def __init__(self, c):
            super().__init__()
            self._block = nn.Sequential(
                nn.ReLU(True),
                nn.Conv2d(c, c, kernel_size=3, stride=1, padding=1, bias=False),
                nn.ReLU(True),
                nn.Conv2d(c, c, kernel_size=1, stride=1, bias=False),
            )

        def forward(self, x):
            return x + self._block(x)

    def encoder():
        return nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.ReLU(), nn.Conv2d(8, 4, 3, 1, 1))

    def decoder():
        return nn.Sequential(Residual(4), nn.ConvTranspose2d(4, 8, 4, 2, 1), nn.ReLU(),
                             nn.Conv2d(8, 1, 1))  # fmt: skip

    grid = torch.linspace(0, 6.28, 8)
    x = torch.stack([torch.sin(grid[None] * f + p) * torch.cos(grid[:, None] * f)
                     for f in (1, 2) for p in (0.0, 1.0, 2.0, 3.0)]).unsqueeze(1)  # fmt: skip
    out = {}
    for name, vq in [("gradient", VectorQuantizer(6, 4, 0.25)), ("ema", EMACodebook(6, 4))]:
        enc, dec = encoder(), decoder()
        params = [*enc.parameters(), *vq.parameters(), *dec.parameters()]
        opt = torch.optim.Adam(params, lr=3e-3, amsgrad=(name == "gradient"))
        curve = []
        for _ in range(25):
            vq_loss, quantized, used = vq(enc(x))
            recon = dec(quantized)
            loss = F.mse_loss(recon, x) / x.var() + vq_loss
            opt.zero_grad()
            loss.backward()
            opt.step()
            curve.append((loss.item(), used.item() if torch.is_tensor(used) else used))
        out[name] = {"curve": curve, "state": dict(vq.state_dict()), "recon": recon[0]}
    return out
