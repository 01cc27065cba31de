"""The values that travel from stage to stage. They import nothing of ours and decide nothing."""
