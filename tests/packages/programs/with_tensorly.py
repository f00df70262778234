"""TensorLy: four decompositions of a tensor."""

import tensorly as tl
import torch
from tensorly.decomposition import non_negative_parafac, parafac, tensor_train, tucker

tl.set_backend("pytorch")
torch.manual_seed(0)
x = tl.tensor(torch.rand(5, 6, 7, dtype=torch.float64))
w, f = parafac(x, 3, init="svd", n_iter_max=10)
print(f"{tl.norm(tl.cp_to_tensor((w, f)) - x).item():.5f}")
c, f = tucker(x, [2, 3, 3], n_iter_max=5)
print(f"{tl.norm(tl.tucker_to_tensor((c, f)) - x).item():.5f}")
t = tensor_train(x, [1, 3, 3, 1])
print(f"{tl.norm(tl.tt_to_tensor(t) - x).item():.5f}")
w, f = non_negative_parafac(x, 2, init="svd", n_iter_max=5)
print(f"{tl.norm(tl.cp_to_tensor((w, f)) - x).item():.5f}")
core = tl.tensor(torch.rand(2, 2, 2, dtype=torch.float64)).requires_grad_()
loss = tl.norm(tl.tucker_to_tensor((core, [f[0][:, :2], f[1][:, :2], f[2][:, :2]])) - x)
loss.backward()
print(f"{core.grad.norm().item():.5f}")
print(tl.get_backend(), tl.context(x))
