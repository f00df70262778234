"""Sobel, Gaussian blur, local statistics by unfold, median, morphology, deconvolution."""


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(18)
    img = torch.rand(2, 3, 14, 14)
    sobel = torch.tensor([[1.0, 0, -1], [2, 0, -2], [1, 0, -1]])
    weight = torch.stack([sobel, sobel.T])[:, None].repeat(3, 1, 1, 1)
    edges = F.conv2d(img, weight, padding=1, groups=3).view(2, 3, 2, 14, 14)
    magnitude = edges.pow(2).sum(2).sqrt()

    r = torch.arange(-2.0, 3)
    g = torch.exp(-(r**2) / 2)
    g = g / g.sum()
    blur = F.conv2d(
        F.pad(img, (2, 2, 0, 0), mode="replicate"), g.view(1, 1, 1, 5).expand(3, 1, 1, 5), groups=3
    )
    blur = F.conv2d(
        F.pad(blur, (0, 0, 2, 2), "circular"), g.view(1, 1, 5, 1).expand(3, -1, -1, -1), groups=3
    )

    patches = F.unfold(img, kernel_size=3, padding=1)
    local = patches.view(2, 3, 9, 14 * 14)
    median = local.median(dim=2).values.view_as(img)
    std = local.std(dim=2, unbiased=False).view(2, 3, 14, 14)
    folded = F.fold(patches, (14, 14), 3, padding=1) / F.fold(
        torch.ones_like(patches), 14, 3, padding=1
    )
    windows = img.unfold(2, 4, 2).unfold(3, 4, 2)
    dilated = F.max_pool2d(img, 3, stride=1, padding=1)
    eroded = -F.max_pool2d(-img, 3, 1, 1)
    pooled, where = F.max_pool2d(img, 2, return_indices=True)
    unpooled = F.max_unpool2d(pooled, where, 2)
    shuffled = F.pixel_unshuffle(img, 2)

    blurred, estimate, losses = blur[:1, :1], torch.zeros(1, 1, 14, 14, requires_grad=True), []
    psf = torch.outer(g, g)[None, None]
    for _ in range(8):
        loss = F.huber_loss(F.conv2d(estimate, psf, padding=2), blurred, delta=0.3)
        (grad,) = torch.autograd.grad(loss, estimate)
        estimate.data -= 50 * grad
        losses.append(loss.item())
    hist = torch.histc(img, bins=8, min=0, max=1)
    equalised = (hist.cumsum(0) / hist.sum())[(img * 7.999).long()]
    return {
        "edges": edges,
        "magnitude": magnitude,
        "blur": blur,
        "median": median,
        "std": std,
        "folded": folded,
        "windows": windows.mean((-1, -2)),
        "open": dilated - eroded,
        "unpooled": unpooled,
        "where": where,
        "shuffled": shuffled,
        "losses": losses,
        "hist": hist,
        "equalised": equalised,
        "lp": F.lp_pool2d(img, 2, 3),
        "lrn": F.local_response_norm(img, 2),
        "inorm": F.instance_norm(img),
    }
