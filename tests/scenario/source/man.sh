#!/bin/sh
# The manual pages agree with the programs.
exec "$(dirname "$0")/../../check-man"
