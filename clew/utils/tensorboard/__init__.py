"""Records that TensorBoard shows: numbers, texts, images, histograms."""

from clew.utils.tensorboard.writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
