"""Lists of items, some of which are kept and to which others are added: select-a-size."""
