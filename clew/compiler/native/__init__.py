"""Native segments: neighbouring instructions as one call of compiled code."""
