# A redis server, and its benchmark with a number of thousands of requests. The server is the
# process of this script, so that it ends last.
(
    until redis-cli -s redis.sock ping >/dev/null 2>&1; do sleep 0.1; done
    redis-benchmark -s redis.sock -q -t set,get,lpush -n "${1}000" -r "${1}000" -d 100 -P 16
    kill -TERM $$
) >/dev/null 2>&1 &
exec redis-server --port 0 --unixsocket redis.sock --save '' --appendonly no >/dev/null 2>&1
