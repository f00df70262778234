"""Optimise an image: Gram matrices, total variation, content loss; and deep-dream ascent."""


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(2)
    filters = [torch.randn(8, 3, 3, 3) * 0.3, torch.randn(8, 8, 3, 3) * 0.15]
    content, style = torch.rand(1, 3, 16, 16), torch.rand(1, 3, 16, 16)

    def features(x):
        maps = []
        for w in filters:
            x = F.max_pool2d(F.elu(F.conv2d(x, w, padding=1)), 2)
            maps.append(x)
        return maps

    def gram(f):
        b, c, h, w = f.shape
        flat = f.view(b, c, h * w)
        return flat.bmm(flat.transpose(1, 2)).div_(c * h * w)

    with torch.no_grad():
        want_style = [gram(f) for f in features(style)]
        want_content = features(content)[-1]
    image = content.clone().requires_grad_(True)
    losses = []
    for _ in range(10):
        maps = features(image)
        style_loss = sum(F.mse_loss(gram(f), s) for f, s in zip(maps, want_style))
        content_loss = F.mse_loss(maps[-1], want_content)
        tv = (image[..., 1:, :] - image[..., :-1, :]).abs().mean() + (
            image[..., :, 1:] - image[..., :, :-1]
        ).abs().mean()
        loss = 100 * style_loss + content_loss + 0.1 * tv
        loss.backward()
        with torch.no_grad():
            image.sub_(0.5 * image.grad).clamp_(0, 1)
        image.grad = None
        losses.append(loss.item())

    dream = torch.zeros(1, 3, 16, 16, requires_grad=True)
    with torch.no_grad():
        dream.add_(content)
    for shift in ((1, -2), (-3, 2)):
        rolled = torch.roll(dream, shift, dims=(-2, -1))
        act = features(rolled)[-1][:, 3].norm()
        (g,) = torch.autograd.grad(act, dream)
        dream.data += 0.1 * g / (g.abs().mean() + 1e-8)
    return {"losses": losses, "image": image, "dream": dream, "grams": want_style}
