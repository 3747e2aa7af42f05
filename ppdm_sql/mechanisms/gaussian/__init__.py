"""Normal noise along keyed paths, rounded to a step."""
