#!/bin/sh
# run_logged.sh LOG COMMAND...
# What the command prints goes to LOG, and is shown if it fails; then the CPU time
# that it took.
log=$1
shift
"$@" >"$log" 2>&1 || {
  cat "$log" >&2
  exit 1
}
# `times` in a pipe would be those of the pipe's shell.
times >"$log.times"
tail -n 1 "$log.times" |
  awk -F'[ms ]+' '{ print "compiled in " $1 * 60 + $2 + $3 * 60 + $4 " s of CPU time" }' >>"$log"
rm -f "$log.times"
