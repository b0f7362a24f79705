#!/bin/sh
# The manual pages say what the programs say.
exec "$(dirname "$0")/../check-man"
