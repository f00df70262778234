"""Single compiled kernels: attention, LSTM, multi-tensor apply, transpose, gather and scatter."""
