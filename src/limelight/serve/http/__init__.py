"""The small server that every product stands on: limits, bodies, errors, log and metrics around uvicorn."""
