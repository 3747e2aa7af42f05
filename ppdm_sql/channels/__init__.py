"""From a domain to the cells a query tells apart, and the transition between them."""
