"""One file for each row of Table 3, named by row letter and what changes."""
