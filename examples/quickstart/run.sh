#!/bin/sh
# Starts a server with the app, enqueues a run, and stops the server again.
set -eu
port=${PORT:-8467}
export ONTHEDOT_SERVER="http://127.0.0.1:$port"
onthedot serve --port "$port" --app shop:app &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
until onthedot job show tick > /dev/null 2>&1; do kill -0 $server; sleep 0.1; done
python3 order.py
until onthedot run list tick 2> /dev/null | grep -q succeeded; do kill -0 $server; sleep 0.1; done
onthedot run list tick
kill -TERM $server
wait $server
trap - EXIT
echo "stopped with $?"
