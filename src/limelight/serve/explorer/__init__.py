"""The page that explores a model: live, or in one file with the model inside."""
