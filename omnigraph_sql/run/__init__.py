"""Plan → answer: the only layer that holds both a plan and a graph."""
