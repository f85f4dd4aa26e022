# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Results and the manifest, for test/run. A test's name is
# KERNEL/GROUP/FS/TEST in a guest, KERNEL/build/TEST or host/TEST outside.
# RESULTS holds one line a test: status, name, why; tabs between.

# Groups that make check has no time for: they run with --long, or when --only
# asks for something.
LONG_GROUPS=' races fs workers submit errors effects memory address diff ahead '

RESULTS=$OUT/results.tsv
EXPECTED=$OUT/expected
STARTED=$SECONDS

note()
{
	printf '%s: %s\n' "$PROG" "$*" >&2
}

say()
{
	printf '[%4d s] %s\n' $((SECONDS - STARTED)) "$*"
}

# record STATUS NAME [WHY]
record()
{
	printf '%s\t%s\t%s\n' "$1" "$2" "${3-}" >>"$RESULTS"
	[ "$1" != fail ] || printf '  FAILED %s: %s\n' "$2" "${3-}"
}

# wanted NAME: does --only let it run?
wanted()
{
	# shellcheck disable=SC2053  # a pattern is meant
	[[ $1 == $ONLY ]]
}

# wanted_any PREFIX*: is any test of the manifest, of that kind, wanted?
wanted_any()
{
	local name

	while read -r name _; do
		# shellcheck disable=SC2053
		if [[ $name == $1 ]] && wanted "$name"; then
			return 0
		fi
	done <"$EXPECTED"
	return 1
}

# What the guest is told to run: the last part of --only, where that is enough.
guest_pattern()
{
	local prefix="$1/$2/$3/" name list=()

	while read -r name _; do
		[[ $name != "$prefix"* ]] || ! wanted "$name" || list+=("${name#"$prefix"}")
	done <"$EXPECTED"
	if [ "$ONLY" = '*' ] || [ ${#list[@]} -gt 1 ]; then
		echo '*'
	else
		echo "${list[0]}"
	fi
}

# On the debug kernel only what shows that it sees bugs; and with a foreign kernel
# nothing that boots another.
host_wanted()
{
	case $1 in
	vm-debug_*) [ -n "$DEBUG" ] ;;
	vm-*) [ -z "$DEBUG" ] && [ ${#FOREIGN[@]} = 0 ] ;;
	*) [ -z "$DEBUG" ] ;;
	esac
}

# EXPECTED gets one line a test: its name, then where it may be skipped.
read_manifest()
{
	local group fs test skip kernel f

	while read -r group fs test skip; do
		case $group in
		'' | \#*) continue ;;
		host) ! host_wanted "$test" || echo "host/$test $skip" ; continue ;;
		esac
		if [ -z "$LONG" ] && [ "$ONLY" = '*' ] && [[ $LONG_GROUPS == *" $group "* ]]; then
			continue
		fi
		for kernel in "${KERNELS[@]}"; do
			if [ "$group" = build ]; then
				echo "$kernel/build/$test $skip"
				continue
			fi
			for f in ${fs//,/ }; do
				echo "$kernel/$group/$f/$test $skip"
				# Each boot reports that it went well to its end.
				[ "$test" != setup ] || echo "$kernel/$group/$f/boot"
			done
		done
	done <"$TEST_DIR/manifest" >"$EXPECTED"
}

file_systems()
{
	awk -v g="$1" '$1 == g { print $2; exit }' "$TEST_DIR/manifest" | tr ',' ' '
}

may_skip()
{
	local kernel=${1%%/*} name skip pattern

	while read -r name skip; do
		[ "$name" = "$1" ] || continue
		set -f
		for pattern in $skip; do
			# shellcheck disable=SC2053
			[[ $kernel == $pattern ]] && { set +f; return 0; }
		done
		set +f
	done <"$EXPECTED"
	return 1
}

skip_or_fail()
{
	if may_skip "$1"; then
		record skip "$1" "$2"
	else
		record fail "$1" "skipped, which it must not be here: $2"
	fi
}

# take_tap NAME FILE PREFIX: "ok X", "not ok X - why", "ok X # SKIP why".
take_tap()
{
	local line test why

	if [ ! -s "$2" ]; then
		note "$1: no results in $2"
		return 0
	fi
	while read -r line; do
		case $line in
		"ok "*" # SKIP "*)
			test=${line#ok } why=${line#* \# SKIP }
			test=$3${test%% \#*}
			skip_or_fail "$1/$test" "$why" ;;
		"ok "*) record pass "$1/$3${line#ok }" ;;
		"not ok "*)
			test=${line#not ok } why=${line#* - }
			record fail "$1/$3${test%% - *}" "$why" ;;
		esac
	done <"$2"
}

check_manifest()
{
	local name

	cut -f 2 "$RESULTS" | sort >"$OUT/reported"
	cut -d ' ' -f 1 "$EXPECTED" | sort >"$OUT/expected.names"
	while read -r name; do
		! wanted "$name" || record fail "$name" "did not report"
	done < <(comm -13 "$OUT/reported" "$OUT/expected.names")
	while read -r name; do
		record fail "$name" "reported, but is not in test/manifest"
	done < <(sort -u "$OUT/reported" | comm -23 - "$OUT/expected.names")
	while read -r name; do
		record fail "$name" "reported more than once"
	done < <(uniq -d "$OUT/reported")
}

summary()
{
	local passed failed skipped

	passed=$(grep -c '^pass' "$RESULTS" || true)
	failed=$(grep -c '^fail' "$RESULTS" || true)
	skipped=$(grep -c '^skip' "$RESULTS" || true)
	if [ "$failed" != 0 ]; then
		echo
		echo "What failed:"
		sed -n 's/^fail\t\([^\t]*\)\t\(.*\)/  \1: \2/p' "$RESULTS"
	fi
	[ "$skipped" = 0 ] || { echo "Skipped:"; sed -n 's/^skip\t\([^\t]*\)\t\(.*\)/  \1: \2/p' "$RESULTS"; }
	if [ $((passed + failed)) = 0 ]; then
		failed=1
		echo "no test matches '$ONLY'"
	fi
	say "logs: $OUT"
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ]
}
