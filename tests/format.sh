#!/bin/bash
# All C files are laid out as .clang-format says. Skipped without clang-format 14.
exec "$SLUICE_SRC/tools/check-format.sh"
