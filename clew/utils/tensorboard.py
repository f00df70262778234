"""TensorBoard's `SummaryWriter`, which clew does not have: the import says so."""

raise ImportError(
    "clew has no torch.utils.tensorboard: SummaryWriter needs TensorBoard and its own tensor "
    "conversions. Print or save the numbers, or import a SummaryWriter from another package, such "
    "as tensorboardX.",
    name=__name__,
)
