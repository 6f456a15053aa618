#!/bin/sh
# Starts a server with the app, makes a report, follows it, and stops the server again.
set -eu
port=${PORT:-8467}
export ONTHEDOT_SERVER="http://127.0.0.1:$port"
onthedot serve --port "$port" --app reports:app &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
until onthedot job show report > /dev/null 2>&1; do kill -0 $server; sleep 0.1; done
run=$(onthedot job trigger report --payload '{"pages": 4}')
onthedot run logs "$run" --follow
onthedot run show "$run"
kill -TERM $server
wait $server
trap - EXIT
