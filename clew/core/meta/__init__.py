"""The meta device: tensors with a shape, a dtype and strides, and no elements."""
