"""The paper's model, one file per section, its symbols kept."""
