"""Operations on each element: arithmetic, comparison, rounding, special functions."""
