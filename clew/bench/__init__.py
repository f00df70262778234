"""The benchmark behind `clew bench`: clew and PyTorch, side by side, in interleaved rounds."""
