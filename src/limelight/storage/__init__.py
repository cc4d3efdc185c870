"""Files and folders that appear whole or not at all, locks, compressed files, safetensors."""
