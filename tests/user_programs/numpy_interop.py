"""NumPy and tensors together: shared memory, ufuncs on tensors, mixed arithmetic, conversions."""

import numpy as np


def main(torch):
    out = {}
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    t = torch.from_numpy(a)
    a[0, 0] = 100
    t[1, 1] = -5
    t += 1
    out["shared"] = [t, a.copy()]
    n = torch.ones(3, 2).numpy()
    u = torch.zeros(4)
    v = u.numpy()
    v[2] = 9
    u.mul_(2)
    out["view"] = [u, v.copy(), n]
    out["as_tensor"] = [torch.as_tensor(a).data_ptr() == a.ctypes.data, torch.tensor(a)]
    out["ufuncs"] = [
        np.sin(u),
        np.asarray(torch.arange(3)),
        np.array(torch.eye(2), dtype=np.float64),
        np.mean(t.numpy()),
        np.stack([u.numpy(), v]).sum(),
    ]
    out["ufuncs"] = [
        x if isinstance(x, np.ndarray) or hasattr(x, "detach") else float(x) for x in out["ufuncs"]
    ]
    out["mixed"] = [
        u + np.float32(2),
        u * np.float64(3.0),
        u + np.ones(4, dtype=np.float32),
        torch.tensor(np.float64(2.5)),
        torch.tensor(np.int32(7)),
        u ** np.int64(2),
    ]
    out["dtypes"] = [
        torch.from_numpy(np.zeros(2, dtype=d)).dtype
        for d in (
            np.float64,
            np.float16,
            np.int8,
            np.int16,
            np.int32,
            np.int64,
            np.uint8,
            np.bool_,
            np.complex64,
            np.complex128,
        )
    ]
    out["back"] = [
        str(torch.zeros(1, dtype=d).numpy().dtype)
        for d in (torch.float64, torch.half, torch.int8, torch.short, torch.bool, torch.cfloat)
    ]
    out["list"] = [
        torch.tensor([np.float32(1), np.float32(2)]),
        torch.tensor([[1, 2.5], [3, 4]]),
        torch.tensor(np.array([1, 2])),
        torch.tensor([np.array([1, 2]), np.array([3, 4])]),
        torch.tensor([torch.tensor(1), torch.tensor(2)]),
        torch.as_tensor([True, False]),
        torch.tensor(range(4)),
        torch.tensor((1, 2j)),
    ]
    x = torch.randn(2, 2, requires_grad=True, generator=torch.Generator().manual_seed(0))
    try:
        x.numpy()
    except RuntimeError as error:
        out["requires_grad"] = str(error)[:40]
    out["detached"] = x.detach().numpy().sum().item()
    strided = torch.from_numpy(np.arange(10.0)[::2])
    out["strided"] = [strided, strided.stride(), torch.from_numpy(a.T).is_contiguous()]
    for bad in (np.array(["a"]), np.arange(3)[::-1], np.array([None])):
        try:
            torch.from_numpy(bad)
            out.setdefault("bad", []).append("accepted")
        except (TypeError, ValueError) as error:
            out.setdefault("bad", []).append([type(error).__name__, str(error)[:35]])
    out["scalars"] = [
        float(torch.tensor(2.5)),
        int(torch.tensor(3.9)),
        bool(torch.tensor([0.0])),
        complex(torch.tensor(1 + 2j)),
        torch.tensor(3).__index__(),
        [1, 2, 3][torch.tensor(1)],
        len(torch.zeros(3, 1)),
        torch.tensor([[1, 2]]).tolist(),
        round(torch.tensor(2.7).item()),
    ]
    out["range"] = list(range(torch.tensor(3)))
    out["dlpack"] = np.from_dlpack(torch.arange(3.0))
    out["from_dlpack"] = torch.from_dlpack(np.arange(3.0))
    out["contains"] = [2 in torch.tensor([1, 2]), 5 in torch.tensor([1, 2])]
    out["sum"] = sum(torch.tensor([1, 2, 3]))
    out["max"] = max(torch.tensor([1.0, 5.0, 3.0]))
    out["sorted"] = [int(i) for i in sorted(torch.tensor([3, 1, 2]), key=lambda i: -i)]
    out["unpack"] = [v.item() for v in (lambda a, b: (b, a))(*torch.tensor([1.0, 2.0]))]
    out["np_index"] = [
        t[np.array([0, 1]), np.array([1, 2])],
        t[np.int64(1)],
        t[np.array([True, False])],
    ]
    out["frombuffer"] = torch.frombuffer(bytearray(b"\x01\x00\x02\x00"), dtype=torch.int16)
    return out
