"""Pooling and interpolation over planes of images."""
