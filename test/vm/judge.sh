# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154  # variables of test/vm/run
#
# Whether a run of the guest was good; sourced by test/vm/run.

# What a line of the kernel log that must not be there looks like.
REPORT='WARNING:|BUG:|kernel BUG at|Oops|KASAN|KCSAN|UBSAN|ODEBUG:|possible circular|suspicious RCU'
REPORT="$REPORT|inconsistent lock state|trying to register non-static key|INFO: task .* blocked"
REPORT="$REPORT|rcu.*detected.*stall|kthread starved|soft lockup|hard LOCKUP|general protection fault"
REPORT="$REPORT|kmemleak: [0-9]+ new|Kernel panic|corruption\\. (prev|next)"
# Part of the report before it, if there is one.
TRACE='Call Trace'
# Not a report: the arguments, which name some of the above, and good news.
INNOCENT='[Cc]ommand line:|kernel command line parameters|ODEBUG: (selftest passed|.* objects replaced)'
# The log itself is incomplete.
LOST='printk messages dropped'

# Sets verdict_status ("" if there is none) and expected.
read_verdict()
{
	local text

	verdict_status='' expected=''
	text=$(head -c 65536 "$work/out" 2>/dev/null | tr -d '\0')
	[ "$(printf '%s\n' "$text" | head -n 1)" = "mars-verdict $nonce" ] || return 0
	[ "$(printf '%s\n' "$text" | tail -n 1)" = "end $nonce" ] || return 0
	verdict_status=$(printf '%s\n' "$text" | sed -n 's/^status \([0-9][0-9]*\)$/\1/p')
	expected=$(printf '%s\n' "$text" | sed -n 's/^expect \(..*\)/\1/p')
}

# scan_log: prints "HEAD<tab>line number<tab>line" for each unexpected report, and
# "CAME<tab>number" for each that was declared, by its line in /mars/expect. A
# trace belongs to the report before it up to that report's end, or a hundred
# lines.
scan_log()
{
	tr -d '\r' <"$work/console" | REPORT="$REPORT|$LOST" TRACE="$TRACE" INNOCENT="$INNOCENT" EXPECTED="$expected" awk '
		function declared(line, i, found) {
			for (i = 1; i <= count; i++)
				if (line ~ pattern[i]) {
					print "CAME\t" i
					found = 1
				}
			return found
		}
		BEGIN {
			report = ENVIRON["REPORT"]; trace = ENVIRON["TRACE"]
			innocent = ENVIRON["INNOCENT"]
			count = split(ENVIRON["EXPECTED"], pattern, "\n")
		}
		$0 ~ innocent { next }
		$0 ~ report {
			if (!declared($0))
				print "HEAD\t" NR "\t" $0
			open = NR
			next
		}
		$0 ~ trace {
			if (!open || NR - open > 100)
				print "HEAD\t" NR "\t" $0
			next
		}
		/---\[ end trace/ { open = 0 }'
}

# The first declared report that did not come.
missing_report()
{
	local number=0 line

	[ -n "$expected" ] || return 0
	while read -r line; do
		number=$((number + 1))
		if ! printf '%s\n' "$1" | grep -qx "CAME	$number"; then
			printf '%s\n' "$line"
			return
		fi
	done <<<"$expected"
}

# excerpt LINE: of the kernel log, around there; a warning's own message stands
# before the line that gives it away.
excerpt()
{
	tr -d '\r' <"$work/console" | sed -n "$(($1 > 3 ? $1 - 3 : 1)),$(($1 + 45))p" | sed 's/^/  | /' >&2
}

log_tail()
{
	tr -d '\r' <"$work/console" | tail -n "$1" | sed 's/^/  | /' >&2
}

# fail CODE MESSAGE…
fail()
{
	local code=$1

	shift
	die "$code" "FAILED: $* (script ${script##*/}, kernel ${kernel:-${modules##*/}}, $((SECONDS - started)) s)"
}

judge()
{
	local reports first absent

	reports=$(scan_log)
	first=$(printf '%s\n' "$reports" | awk -F '\t' '$1 == "HEAD" { print $2; exit }')
	if [ -n "$first" ]; then
		note "the kernel log:"
		excerpt "$first"
	fi
	if grep -q 'Kernel panic' "$work/console" 2>/dev/null; then
		fail "$EX_PANIC" "the guest's kernel panicked: $(sed -n "${first:-1}p" "$work/console" | tr -d '\r')"
	fi
	if [ "$ended" = timeout ]; then
		log_tail 15
		fail "$EX_TIMEOUT" "the guest was not done after $timeout s and was stopped"
	fi
	if [ -z "$verdict_status" ]; then
		log_tail 15
		sed 's/^/  qemu: /' "$work/qemu.log" >&2
		fail "$EX_SILENT" "the guest ended (QEMU's status $qemu_status) without a verdict"
	fi
	if [ -n "$first" ]; then
		fail "$EX_REPORT" "the kernel log holds a report (the script ended with $verdict_status)"
	fi
	if ! grep -q 'reboot: ' "$work/console"; then
		log_tail 15
		fail "$EX_SILENT" "the kernel log does not reach the end of the run, so it proves nothing"
	fi
	absent=$(missing_report "$reports")
	if [ -n "$absent" ]; then
		fail "$EX_EXPECT" "the script declared a report matching '$absent', and none came (it ended with $verdict_status)"
	fi
	if [ "$verdict_status" != 0 ]; then
		note "the script ${script##*/} ended with $verdict_status (kernel ${kernel:-${modules##*/}}, $((SECONDS - started)) s)"
	fi
	exit "$verdict_status"
}
