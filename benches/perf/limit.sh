#!/bin/bash
# Runs perf and symidx on one recording under a real memory limit, and shows who finishes:
#     bash benches/perf/limit.sh SYMIDX PERF.DATA [LIMIT]       LIMIT in MiB, default 64
# The limit is a memory cgroup of its own (version 2 or 1) where one can be made: resident memory counts, pages of
# mapped files read meanwhile as well. Elsewhere it is RLIMIT_DATA, which counts private writable memory. Ends with
# 0 when perf did not finish and symidx did, with the bytes that it prints without a limit.
set -u

symidx=${1:?"usage: limit.sh SYMIDX PERF.DATA [LIMIT]"}
data=${2:?"usage: limit.sh SYMIDX PERF.DATA [LIMIT]"}
limit=$((${3:-64} << 20))
script=(script -i "$data" --no-inline --max-stack 127 -F comm,tid,time,ip,sym,dso)

group=
make_group() { # make_group DIRECTORY FILE
    mkdir "$1" 2>/dev/null || return 1
    if echo $limit >"$1/$2" 2>/dev/null; then group=$1; else rmdir "$1"; return 1; fi
}
root=/sys/fs/cgroup
name=symidx-limit-$$
if [ -f $root/cgroup.controllers ] && make_group $root/$name memory.max; then
    echo 0 >"$group/memory.swap.max" 2>/dev/null
    kind="memory cgroup (version 2)" peak=memory.peak
elif make_group $root/memory/$name memory.limit_in_bytes; then
    kind="memory cgroup (version 1)" peak=memory.max_usage_in_bytes
else
    kind="RLIMIT_DATA (no cgroup can be made here)" peak=
fi
cleanup() { [ -n "$group" ] && rmdir "$group"; }
trap cleanup EXIT

limited() {
    if [ -n "$group" ]; then
        sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"
    else
        prlimit --data=$limit -- "$@"
    fi
}
# used: the most that the group has held; started anew for the next.
used() {
    [ -n "$peak" ] && [ -f "$group/$peak" ] || { echo "?"; return; }
    echo "$(($(cat "$group/$peak") >> 20)) MiB"
    echo 0 >"$group/$peak" 2>/dev/null
}

# said: a program's last words, when it had any.
said() { [ "$1" != 0 ] && [ "$1" != 137 ] && echo ": $(tail -n 1 "$errors")"; }

errors=$(mktemp)
echo "limit: $((limit >> 20)) MiB, $kind"
"$symidx" -q perf index -i "$data" >/dev/null
want=$("$symidx" -q perf "${script[@]}" --no-build 2>"$errors" | sha256sum; exit "${PIPESTATUS[0]}") || { cat "$errors"; exit 1; }

lines=$(limited perf "${script[@]}" 2>"$errors" | wc -l; exit "${PIPESTATUS[0]}")
code=$?
whole=$("$symidx" -q perf "${script[@]}" --no-build 2>/dev/null | wc -l)
echo "perf:   exit $code ($([ $code = 137 ] && echo 'killed' || echo 'not killed')), $lines of about $whole lines, at most $(used)$(said $code)"
perf=$code

found=$(limited "$symidx" -q perf "${script[@]}" --no-build 2>"$errors" | sha256sum; exit "${PIPESTATUS[0]}")
code=$?
same=$([ "$found" = "$want" ] && echo "the same bytes as without a limit" || echo "OTHER bytes than without a limit")
echo "symidx: exit $code, $same, at most $(used)$(said $code)"
rm -f "$errors"
[ $perf != 0 ] && [ $code = 0 ] && [ "$found" = "$want" ]
