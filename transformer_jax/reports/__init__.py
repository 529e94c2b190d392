"""The paper's tables with our figures beside them, and what a run is."""
