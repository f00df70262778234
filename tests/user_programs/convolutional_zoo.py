"""Blocks of known networks: residual, squeeze-excite, WaveNet, 3-D, ViT, Swin."""


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(204)
    out, leaves = {}, []

    def p(*shape, scale=0.2):
        t = (torch.randn(*shape) * scale).requires_grad_()
        leaves.append(t)
        return t

    x = torch.randn(2, 4, 10, 10)
    h = F.conv2d(x, p(8, 4, 3, 3), p(8), stride=2, padding=1)
    h = F.relu(F.group_norm(h, 4) + F.conv2d(x, p(8, 4, 1, 1), stride=2))
    h = F.conv2d(F.conv2d(h, p(8, 1, 3, 3), padding=1, groups=8), p(6, 8, 1, 1))
    gate = F.adaptive_avg_pool2d(h, (1, 1)).view(2, 6)
    h = h * torch.sigmoid(F.relu(gate @ p(6, 3)) @ p(3, 6))[:, :, None, None]
    out["residual"] = h

    wave = torch.randn(2, 3, 20)
    skip = 0
    for dilation in (1, 2, 4):
        padded = F.pad(wave, (dilation, 0))
        filtered = torch.tanh(F.conv1d(padded, p(3, 3, 2), dilation=dilation))
        gated = filtered * torch.sigmoid(F.conv1d(padded, p(3, 3, 2), dilation=dilation))
        wave = wave + gated
        skip = skip + gated
    out["wavenet"] = F.conv_transpose1d(F.avg_pool1d(skip, 2), p(3, 2, 4), stride=2, padding=1)

    video = torch.randn(1, 2, 4, 6, 6)
    v = F.max_pool3d(F.conv3d(video, p(4, 2, 3, 3, 3), padding=1), (1, 2, 2))
    out["video"] = F.conv_transpose3d(v, p(4, 2, 2, 2, 2), stride=2).mean((2, 3, 4))

    patches = x.unfold(2, 5, 5).unfold(3, 5, 5).permute(0, 2, 3, 1, 4, 5).reshape(2, 4, -1)
    tokens = patches @ p(100, 8) + p(1, 4, 8)
    cls = p(1, 1, 8).expand(2, -1, -1)
    tokens = torch.cat((cls, tokens), dim=1)
    q, k, v2 = (tokens @ p(8, 24)).chunk(3, -1)
    attended = F.scaled_dot_product_attention(q, k, v2)
    out["vit"] = F.layer_norm(tokens + attended, (8,), p(8, scale=1.0), p(8))[:, 0]

    shifted = torch.roll(x, shifts=(-2, -2), dims=(2, 3))
    windows = shifted.view(2, 4, 2, 5, 2, 5).permute(0, 2, 4, 3, 5, 1).reshape(-1, 25, 4)
    mixed = torch.einsum(
        "wij,wjc->wic", (windows @ windows.transpose(1, 2)).softmax(-1), windows @ p(4, 4)
    )
    out["swin"] = mixed.view(2, 2, 2, 5, 5, 4).permute(0, 5, 1, 3, 2, 4).reshape(2, 4, 10, 10)

    kernel = p(6, 4, 3, 3)
    u = F.normalize(torch.ones(6), dim=0)
    flat = kernel.flatten(1)
    for _ in range(3):
        with torch.no_grad():
            vv = F.normalize(flat.T @ u, dim=0)
            u = F.normalize(flat @ vv, dim=0)
    spectral = kernel / torch.dot(u, flat @ vv)
    g = p(6, 1, 1, 1, scale=1.0)
    weight_norm = g * kernel / torch.linalg.vector_norm(kernel, dim=(1, 2, 3), keepdim=True)
    out["norms"] = F.conv2d(x, spectral) + F.conv2d(x, weight_norm)
    keep = torch.bernoulli(torch.full((2, 1, 1, 1), 0.8)) / 0.8
    out["depth"] = x + keep * F.conv2d(x, p(4, 4, 3, 3), padding=1)
    out["shuffle"] = torch.channel_shuffle(x, 2)
    up = F.pixel_shuffle(F.conv2d(x, p(16, 4, 3, 3), padding=1), 2)
    out["up"] = F.interpolate(up, scale_factor=0.5, mode="bilinear", antialias=True)
    total = sum(v.square().mean() for v in out.values())
    total.backward()
    out["total"], out["grads"] = total, [t.grad for t in leaves]
    return out
