"""Layers that take images apart into sliding blocks, and put blocks together again."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.module import Module
from clew.nn.modules.utils import Sizes, _named

__all__ = ["Fold", "Unfold"]


class _Blocks(Module):
    """What describes the blocks of an image: their size, and where they lie."""

    kernel_size: Sizes
    dilation: Sizes
    padding: Sizes
    stride: Sizes

    def extra_repr(self) -> str:
        return _named(self, *self.__constants__)


class Fold(_Blocks):
    """Sum blocks, the columns of the input, into an image of `output_size`.

    Args:
        output_size: the image's height and width
        kernel_size: the blocks' height and width
        dilation: the distance between the elements of a block
        padding: zeros at each side of the image, which the blocks reach over
        stride: the distance between blocks

    Shape: (N, C * block, L) to (N, C, *output_size)

    Example:
        >>> blocks = F.unfold(clew.ones(1, 1, 2, 3), kernel_size=2)
        >>> nn.Fold(output_size=(2, 3), kernel_size=2)(blocks)[0, 0]
        tensor([[1., 2., 1.],
                [1., 2., 1.]])
    """

    __constants__ = [
        "output_size",
        "kernel_size",
        "dilation",
        "padding",
        "stride",
    ]

    def __init__(
        self,
        output_size: Sizes,
        kernel_size: Sizes,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        stride: Sizes = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )


class Unfold(_Blocks):
    """The sliding blocks of an image, each as one column.

    Args:
        kernel_size: the blocks' height and width
        dilation: the distance between the elements of a block
        padding: zeros at each side of the image
        stride: the distance between blocks

    Shape: (N, C, H, W) to (N, C * block, L) for L blocks

    Example:
        >>> nn.Unfold(kernel_size=(2, 3))(clew.zeros(2, 5, 3, 4)).shape
        torch.Size([2, 30, 4])
    """

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(
        self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)
