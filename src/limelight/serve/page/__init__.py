"""A page as one HTML text, and the modules that both pages share."""
