"""What operations are defined with: rows of the table, arguments, `out=`, named results."""
