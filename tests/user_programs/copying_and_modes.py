"""deepcopy, copy, pickle, save by io, grad modes as context managers and decorators."""

import copy
import io
import pickle


def main(torch):
    out = {}
    torch.manual_seed(3)
    w = torch.randn(2, 3, requires_grad=True)
    w.grad = torch.ones(2, 3)
    clone = copy.deepcopy(w)
    with torch.no_grad():
        clone.add_(1)
    shared = copy.copy(w)
    out["deepcopy"] = [clone, clone.grad, clone is w, shared.data_ptr() == w.data_ptr()]
    state = {"w": w, "b": torch.arange(3), "again": w, "step": 7}
    loaded = pickle.loads(pickle.dumps(state))
    out["pickle"] = [loaded["w"], loaded["b"], loaded["w"] is loaded["again"], loaded["step"]]
    view_pair = (state["b"], state["b"][1:])
    restored = pickle.loads(pickle.dumps(view_pair))
    restored[0][1] = 50
    out["views"] = restored[1]
    buffer = io.BytesIO()
    pickle.dump([w.detach().half(), torch.tensor(True), torch.zeros(0)], buffer)
    buffer.seek(0)
    out["buffer"] = pickle.load(buffer)
    try:
        copy.deepcopy(w * 2)
    except RuntimeError as error:
        out["deepcopy_error"] = str(error)[:50]

    @torch.no_grad()
    def evaluate(x):
        return x * 2

    @torch.enable_grad()
    def train(x):
        return x * 3

    @torch.inference_mode()
    def infer(x):
        return x * 4

    with torch.no_grad():
        inner = train(w)
        outer = w * 2
    with torch.set_grad_enabled(False):
        off = w + 1
    with torch.inference_mode():
        quiet = w + 1
    flags = [
        evaluate(w).requires_grad,
        inner.requires_grad,
        outer.requires_grad,
        off.requires_grad,
        quiet.is_inference(),
        infer(w).is_inference(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        w.is_leaf,
        (w * 2).is_leaf,
        outer.is_leaf,
    ]
    try:
        quiet.mul_(2)
        (w * quiet).sum().backward()
    except RuntimeError as error:
        out["inference_error"] = str(error)[:45]
    previous = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    flags.append((w * 2).requires_grad)
    torch.set_grad_enabled(previous)
    out["flags"] = flags
    d = (w * 2).detach()
    d.requires_grad_()
    (d**2).sum().backward()
    out["detached"] = [d.grad, w.grad]
    d.grad = None
    d.requires_grad = False
    out["off"] = [d.requires_grad, d.grad is None]
    out["data"] = w.data.requires_grad
    moved = w.to(torch.float64).to("cpu").type(torch.float32).cpu().float().to(torch.device("cpu"))
    out["moved"] = [
        moved,
        w.to(w.dtype) is w,
        w.to(torch.float32, copy=True) is w,
        w.double().dtype,
    ]
    out["new"] = [
        w.new_zeros(2),
        w.new_tensor([1, 2]),
        w.new_full((1,), 3.0),
        w.new_ones(1, 2),
        torch.zeros_like(w, dtype=torch.int32),
        torch.empty_like(w).shape,
        torch.full_like(w, 2),
        w.new_empty(3).shape,
        torch.ones_like(w, requires_grad=True),
    ]
    return out
