"""Results as small tables in a notebook."""
