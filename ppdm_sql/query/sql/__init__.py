"""The statements that run on perturbed rows, and the analyst's own SELECT around what comes of them."""
