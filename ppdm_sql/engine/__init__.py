"""What the rest of the program asks of a database that holds rows of releases."""
