"""Publishing in SQL: CREATE PERTURBED TABLE and VIEW, what they say and how they run."""
