#!/bin/sh
# Starts a server with the app, makes the table, writes an invoice, and stops the server again.
set -eu
port=${PORT:-8467}
export ONTHEDOT_SERVER="http://127.0.0.1:$port"
onthedot serve --port "$port" --app app:app &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
until onthedot job show billing.install > /dev/null 2>&1; do kill -0 $server; sleep 0.1; done
onthedot job trigger billing.install --wait
onthedot job trigger billing.bill --payload '{"customer": 7, "month": "2027-01"}' --wait
kill -TERM $server
wait $server
trap - EXIT
python3 -c "
import sqlite3
for customer, month, cents in sqlite3.connect('onthedot.db').execute(
    'select customer, month, cents from invoice'
):
    print(f'invoice of customer {customer} for {month}: {cents / 100:.2f}')
"
