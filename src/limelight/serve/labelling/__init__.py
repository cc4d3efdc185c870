"""The page on which texts are labelled."""
