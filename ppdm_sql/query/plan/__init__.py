"""What is counted: axes with their cells and shares, and for each aggregate its states."""
