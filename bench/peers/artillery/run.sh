#!/bin/sh
# Artillery writes its report to a file; its last words come from there.
here=$(dirname "$0")
report=$(mktemp)
trap 'rm -f "$report"' EXIT
CLOSES_MS=$(($(date +%s%3N) + HOLD_MS))
export CLOSES_MS ARTILLERY_DISABLE_TELEMETRY=true
# It wants a newer Node.js than Debian's: the registry's stands beside it.
PATH=$here/node_modules/.bin:$PATH
phase="{\"duration\": $CONNECT_S, \"arrivalCount\": $N}"
artillery run --quiet --output "$report" \
  --overrides "{\"config\": {\"target\": \"$URL\", \"phases\": [$phase]}}" "$here/websocket.yml" >&2
node "$here/said.mjs" "$report"
