"""One configuration: every option once, with its sentence, its values and when it matters; and the presets."""
