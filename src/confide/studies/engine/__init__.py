"""Study grids: cells, the runner, and stored results."""
