"""One configuration: every option once (its sentence, its values, when it matters), and the presets."""
