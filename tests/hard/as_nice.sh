#!/usr/bin/env bash
# `run` passes on the same things as `nice`: every signal that can be caught, signal dispositions,
# the signal mask and closed streams.
set -u
broadleaf=$(realpath "${BROADLEAF:-target/release/broadleaf}")
command -v perl >/dev/null || { echo "cannot run: needs perl" >&2; exit 3; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

expect() { # NAME EXPECTED ACTUAL
  if [ "$2" = "$3" ]; then
    echo "ok: $1"
  else
    echo "FAILED: $1: expected \"$2\", actual \"$3\""
    failed=1
  fi
}

# Compares the program's initial state under nice and under run. The probe is a shell: perl reopens
# closed streams.
cat >probe.sh <<'SH'
exec 9>"$1"
grep -E '^Sig(Ign|Blk)' /proc/self/status >&9
for stream in 0 1 2; do
  if [ -e /proc/$$/fd/$stream ]; then opened="${opened:-}$stream "; fi
done
echo "open: ${opened:-}" >&9
SH
inherits() { # NAME PERL-SETUP
  for by in nice run; do
    [ $by = nice ] && program=(nice) || program=("$broadleaf" run -o report --force --)
    perl -MPOSIX -e "$2; exec @ARGV" "${program[@]}" sh probe.sh $by.out
  done
  expect "$1" "$(cat nice.out)" "$(cat run.out)"
}
inherits "nothing special" ''
inherits "SIGPIPE ignored" '$SIG{PIPE} = "IGNORE"'
inherits "SIGCHLD, SIGHUP and SIGUSR1 ignored" '$SIG{$_} = "IGNORE" for qw(CHLD HUP USR1)'
inherits "SIGTERM and SIGALRM blocked" 'sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGTERM, SIGALRM))'
inherits "standard input closed" 'POSIX::close(0)'
inherits "standard output closed" 'POSIX::close(1)'

# A program that writes the signals that it catches, and ends by SIGTERM.
cat >catches.pl <<'PERL'
use POSIX;
$| = 1;
open my $out, '>', "caught";
select($out); $| = 1;
for my $number (1 .. 64) {
    next if $number == 9 || $number == 17 || $number == 19 || $number == 32 || $number == 33;
    sigaction($number, POSIX::SigAction->new(sub { print "$_[0]\n"; exit 0 if $_[0] eq "TERM" || $_[0] == 15 }));
}
open my $pid, '>', "pid";
print $pid "$$\n";
close $pid;
open my $ready, '>', "ready";
close $ready;
select(undef, undef, undef, 0.05) while 1;
PERL
signals="HUP INT QUIT TRAP ABRT USR1 USR2 PIPE ALRM STKFLT CONT TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS 34 35 50 64"
setsid "$broadleaf" run -o report --force -- perl catches.pl >/dev/null 2>&1 </dev/null &
run=$!
for _ in $(seq 100); do [ -e ready ] && break; sleep 0.1; done
for signal in $signals; do
  kill -"$signal" $run
  for _ in $(seq 30); do # until it was caught, or in vain
    [ "$(wc -l <caught)" -ge "$(($(echo "${sent:-}" | wc -w) + 1))" ] && break
    sleep 0.1
  done
  sent="${sent:-} $signal"
done
kill -TERM $run
wait $run
expect "exit status after SIGTERM" 0 $?
# A program that run leaves running would never end.
kill -KILL "$(cat pid)" 2>/dev/null
expect "signals that reached the program" "$(echo $signals TERM | wc -w)" "$(wc -l <caught)"
rm -f ready

# If a program dies by a real-time signal, run dies by the same one.
"$broadleaf" run -o report --force -- perl -e 'kill 40, $$; sleep 5'
expect "the end by a signal for real time" $((128 + 40)) $?

# Without /proc signals still reach the program, and run reports the reason once.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
  said=$(unshare -m sh -c 'mount -t tmpfs none /proc; exec "$0" run -- sh -c "exit 3"' "$broadleaf" 2>&1)
  expect "exit status without /proc" 3 $?
  expect "obstacles that are named without /proc" 1 "$(echo "$said" | grep -c "proc is not mounted")"
  expect "nothing false is said" 0 "$(echo "$said" | grep -ciE "CAP_SYS_NICE|Linux 0.0|before Linux 6.7")"
  # No process can be seen.
  said=$(unshare -m sh -c 'mount -t tmpfs none /proc; exec "$0" report --all' "$broadleaf" 2>&1 >out)
  expect "exit status of report --all without /proc" 1 $?
  expect "report --all says why" 1 "$(echo "$said" | grep -c "/proc is not mounted")"
  said=$(unshare -m sh -c 'mount -t tmpfs none /proc; exec "$0" report --all --format json' "$broadleaf" 2>&1 >out)
  expect "JSON without a process" "[]" "$(python3 -c 'import json; print(json.load(open("out"))["processes"])')"
fi
exit $failed
