"""The bidirectional LSTM's arithmetic, on a CPU and on a GPU."""
