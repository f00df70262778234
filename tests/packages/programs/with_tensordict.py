"""tensor dictionaries, modules over them, tensor classes, memory maps"""

import torch, tempfile
from tensordict import TensorDict, tensorclass, TensorDictBase
from tensordict.nn import TensorDictModule, TensorDictSequential

torch.manual_seed(0)
td = TensorDict({"a": torch.randn(3, 4), "b": {"c": torch.zeros(3, 1)}}, batch_size=[3])
print(td[0].batch_size, td["b", "c"].shape, sorted(td.keys(True, True), key=str))
st = torch.stack([td, td], 0)
print(st.batch_size)
print(torch.cat([td, td], 0).batch_size)
m = TensorDictSequential(
    TensorDictModule(torch.nn.Linear(4, 5), in_keys=["a"], out_keys=["h"]),
    TensorDictModule(torch.nn.Linear(5, 1), in_keys=["h"], out_keys=["y"]),
)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for _ in range(3):
    loss = m(td.clone())["y"].square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{loss.item():.5f}")
p = TensorDict.from_module(m)
print(p.batch_size, f"{sum(v.sum().item() for v in p.values(True, True)):.4f}")
with p.to_module(m):
    pass


@tensorclass
class Data:
    x: torch.Tensor
    y: torch.Tensor


d = Data(x=torch.ones(3), y=torch.zeros(3), batch_size=[3])
print(d[:2].batch_size, (d + 1).x.tolist())
print(td.apply(lambda t: t + 1)["b", "c"].sum().item(), td.reshape(3, 1).shape, td.view(-1).shape)
print(
    td.split(1)[0].batch_size,
    td.gather(0, torch.tensor([0, 2])).shape,
    td.squeeze().shape,
    td.unsqueeze(0).shape,
)
with tempfile.TemporaryDirectory() as f:
    td.memmap(f)
    t2 = TensorDict.load_memmap(f)
    print((t2 == td).all())
print(torch.vmap(lambda t: t["a"].sum())(td).shape)
print(td.to(torch.double)["a"].dtype, td.flatten_keys()["b.c"].shape)
