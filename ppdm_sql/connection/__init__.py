"""What an analyst holds: connections, cursors, relations and results."""
