#!/bin/sh
# Tsung reads a file of its own; what it needs beside it goes when it goes.
here=$(dirname "$0")
place=$(mktemp -d)
epmd &
mapper=$!
trap 'kill $mapper $tsung 2>/dev/null; rm -rf "$place"' EXIT
trap 'exit 143' TERM
address=${URL#ws://}
port=${address#*:}
sed -e "s|@PORT@|${port%%/*}|; s|@PATH@|/${address#*/}|; s|@N@|$N|; s|@PER_S@|$((N / CONNECT_S))|" \
  "$here/websocket.xml" > "$place/push.xml"
# The erlang shell wants a home for its cookie.
HOME=$place tsung -f "$place/push.xml" -l "$place/log" -n -m - -p 200000 start >&2 &
tsung=$!
wait $tsung
