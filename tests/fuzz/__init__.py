"""Whatever bytes come in, only our own errors come out, and work grows with the input and not with its square."""
