"""InfoNCE, CLIP's symmetric loss, triplet and margin losses, cosine retrieval, a memory queue."""


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(55)
    N, D = 12, 6
    W = (torch.randn(8, D) * 0.3).requires_grad_()
    base = torch.randn(N, 8)
    curve = []
    for _ in range(20):
        a, b = (F.normalize((base + 0.1 * torch.randn_like(base)) @ W, dim=1) for _ in range(2))
        z = torch.cat([a, b])
        sim = z @ z.t() / 0.2
        sim.fill_diagonal_(float("-inf"))
        labels = torch.cat([torch.arange(N) + N, torch.arange(N)])
        loss = F.cross_entropy(sim, labels)
        (grad,) = torch.autograd.grad(loss, W)
        W.data.sub_(0.5 * grad)
        curve.append(loss.item())

    scale = torch.tensor(2.0, requires_grad=True)
    logits = scale.exp() * a.detach() @ b.detach().T
    truth = torch.arange(N)
    clip = (F.cross_entropy(logits, truth) + F.cross_entropy(logits.T, truth)) / 2
    clip.backward()

    anchor = torch.randn(N, D, requires_grad=True)
    triplet = F.triplet_margin_loss(anchor, anchor.detach() + 0.1, torch.randn(N, D), margin=0.7)
    cosine = F.cosine_embedding_loss(anchor, b.detach(), torch.ones(N).where(truth % 2 == 0, -1.0))
    ranking = F.margin_ranking_loss(anchor[:, 0], anchor[:, 1], truth.sub(5).sign().float(), 0.1)
    (triplet + cosine + ranking).backward()

    queue = torch.zeros(20, D)
    pointer = 0
    for _ in range(3):
        rows = (pointer + torch.arange(N)) % 20
        queue[rows] = b.detach()
        pointer = (pointer + N) % 20
    retrieval = F.cosine_similarity(a[:, None].detach(), queue[None], dim=-1)
    best = retrieval.topk(3, dim=-1, largest=True, sorted=True)
    recall = (sim.argmax(1) == labels).float().mean()
    return {
        "curve": curve,
        "clip": clip,
        "scale_grad": scale.grad,
        "triplet": triplet,
        "cosine": cosine,
        "ranking": ranking,
        "anchor_grad": anchor.grad,
        "queue": queue,
        "best": best.values,
        "recall": recall,
        "pdist": F.pdist(a.detach()),
    }
