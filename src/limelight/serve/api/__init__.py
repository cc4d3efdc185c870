"""Models and an index behind HTTP, for programs."""
