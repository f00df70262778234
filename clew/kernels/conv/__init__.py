"""Convolutions: through im2col and GEMM, by Winograd's transforms, and depthwise."""
