# A PostgreSQL server, and its benchmark. Arguments: the folder of the programs, the transactions.
# The server is the process of this script, so that it ends last.
at=$PWD/bank
(
    until "$1/psql" -h "$at" -U zhu -d postgres -c 'SELECT 1'; do sleep 0.2; done
    "$1/pgbench" -h "$at" -U zhu -i -s 1 -q postgres
    "$1/pgbench" -h "$at" -U zhu -n -t "$2" postgres
    kill -INT $$
) >/dev/null 2>&1 &
exec "$1/postgres" -D bank -k "$at" -h '' -c fsync=off -c shared_buffers=32MB >/dev/null 2>&1
