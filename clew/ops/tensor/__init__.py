"""What a tensor says and does: its properties, text, copies, conversion and pickling."""
