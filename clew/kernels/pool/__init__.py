"""Pooling and interpolation of images."""
