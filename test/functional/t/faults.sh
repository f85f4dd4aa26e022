# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Reads against somebody who changes, kills, unmounts or unloads: one file
# system, $FS, on a mapping named "slow", whose I/O can be held back; and another
# of the same kind, /t2, on a disk of its own.

FILE=/t/file SECONDS_EACH=$((RACE_SECONDS / 4))

setup()
{
	dm_disk slow /dev/mars-disk0
	mount_dm "$FS" slow /t
	mread mkfile "$FILE" "$(scaled 160M 96M)" --seed 21
	mount_fs "$FS" 1 /t2
	mread mkfile /t2/other 16M --seed 22
	mars_load
	mars_attach /t
	mars_on /t
	mars_attach /t2
	mars_on /t2
}

# with_each COMMAND…: with every setting of early_copy.
with_each()
{
	if native; then
		"$@"
		return
	fi
	for early in off any ordered; do
		put "$(entry /t)/early_copy" $early 0
		echo "early_copy=$early"
		"$@"
	done
}

t_truncate()
{
	with_each mread truncrace /t/race --size "$(scaled 24M 12M)" --low 0 \
		--len "$(scaled 16M 12M)" --seconds $SECONDS_EACH
	with_each mread truncrace /t/race --size "$(scaled 32M 16M)" --low "$(scaled 8M 4M)" \
		--len "$(scaled 24M 12M)" --readers 1 --seconds $SECONDS_EACH
	rm /t/race
}

t_append()
{
	with_each mread appendrace /t/race --size "$(scaled 24M 12M)" --seconds $SECONDS_EACH
	rm /t/race
}

t_punch()
{
	with_each mread punchrace /t/race --size "$(scaled 32M 12M)" --seconds $SECONDS_EACH
	rm /t/race
}

# begin_blocked: a cold read of the whole file that sleeps for the disk. Only the
# file's pages are dropped: who waits for metadata cannot be killed, natively
# neither. Nobody may sync while this lasts.
begin_blocked()
{
	mread drop "$FILE"
	trap 'dm_go slow || true' EXIT
	dm_stop slow
	mread bigread "$FILE" --seed 21 >/tmp/reader.log 2>&1 &
	reader=$!
	wait_for 30 asleep "$reader"
}

end_blocked()
{
	dm_go slow
	wait_for 60 exited "$reader"
	wait "$reader" || fail "the reader: $(cat /tmp/reader.log)"
	grep -q "bytes right" /tmp/reader.log || fail "the reader: $(cat /tmp/reader.log)"
}

# SIGKILL ends a read that waits for the disk, before the disk answers; the
# folios it left are read by the next one, and none stays locked.
t_kill()
{
	begin_blocked
	kill -9 "$reader"
	wait_for 10 exited "$reader"
	dm_go slow
	mread fpos "$FILE" --seed 21 --chunk 16M
	for i in 1 2 3 4 5 6 7 8; do
		echo 3 >/proc/sys/vm/drop_caches
		mread bigread "$FILE" --seed 21 >/dev/null 2>&1 &
		reader=$!
		sleep 0.0$i
		kill -9 "$reader" 2>/dev/null || true
		wait_for 10 exited "$reader"
	done
	mread rdcheck "$FILE" --seed 21 --min 1M --max 64M --count 4
}

# A signal without a handler that kills, sent to a read of a fast disk: the
# file must be readable afterwards (above); here the exit is by SIGTERM.
t_signal()
{
	begin_blocked
	kill -TERM "$reader"
	wait_for 10 exited "$reader"
	dm_go slow
	mread rdcheck "$FILE" --seed 21 --min 1M --max 64M --count 4
}

# mask_round EARLY_COPY FAULT_IN: reads that wait 50 ms each for the disk while the
# end of what they ask for is in memory (it gets there in small reads, which wait as
# long); sets out_of_order, faulted and masked.
mask_round()
{
	early=$1 fault=$2
	put "$e/early_copy" "$early" 0
	put "$e/fault_in" "$fault" 0
	before="$(mars_stat /t bytes_out_of_order) $(mars_stat /t bytes_faulted_in) $(mars_stat /t bytes_masked)"
	mread rdcheck "$FILE" --seed 21 --res suffix --min 4M --max 4M --count 1 --rng 31
	# shellcheck disable=SC2086
	set -- $before
	out_of_order=$(($(mars_stat /t bytes_out_of_order) - $1))
	faulted=$(($(mars_stat /t bytes_faulted_in) - $2))
	masked=$(($(mars_stat /t bytes_masked) - $3))
	echo "early_copy=$early fault_in=$fault: $out_of_order out of order, $faulted faulted in, $masked masked"
}

# What each setting does while the disk is slow, and that the bytes are right.
t_masking()
{
	native && skip "nothing to mask without MARS"
	e=$(entry /t)
	trap 'dm_go slow || true' EXIT
	dm_table slow "0 $(blockdev --getsz /dev/mars-disk0) delay /dev/mars-disk0 0 50 /dev/mars-disk0 0 0"
	for set in "off 0" "off 1" "ordered 0" "ordered 1" "any 0" "any 1"; do
		mask_round "${set% *}" "${set#* }"
		case $set in
		any*)
			[ "$out_of_order" -gt 0 ] || fail "$set: nothing was copied early"
			[ "$masked" -gt 0 ] || fail "$set: nothing was copied while I/O was under way" ;;
		*) [ "$out_of_order" = 0 ] || fail "$set: copied out of order" ;;
		esac
		case $set in
		*1) [ "$faulted" -gt 0 ] || fail "$set: nothing was faulted in ahead" ;;
		*) [ "$faulted" = 0 ] || fail "$set: pages were faulted in ahead" ;;
		esac
	done
	put "$e/early_copy" ordered 0
	put "$e/fault_in" 1 0
	dm_go slow
}

# The sector under 40 MiB fails: prefix, EIO, nothing written behind it.
t_ioerror()
{
	bad=40M
	trap 'dm_go slow || true' EXIT
	dm_bad slow "$(mread physical "$FILE" $bad)"
	mread ioerror "$FILE" --bad $bad --seed 21
	dm_go slow
	mread fpos "$FILE" --seed 21 --chunk 16M
}

# umount is never in the way, and the entry goes with the file system.
t_umount()
{
	e=$(entry /t)
	for i in 1 2 3 4 5 6; do
		mread bigread "$FILE" --seed 21 --len 32M >/dev/null
		umount /t || fail "umount number $i of an enabled mount failed"
		# At once, without waiting for the old entry to go: every other time.
		[ $((i % 2)) = 0 ] || native || wait_for 5 gone "$e"
		mount -t "$FS" /dev/mapper/slow /t
		mars_attach /t
		native || [ "$(cat "$e/enabled")" = 0 ] || fail "a new entry was enabled"
		mars_on /t
		native || [ "$(mars_stat /t reads)" = 0 ] || fail "a new entry has old counters"
		mread rdcheck "$FILE" --seed 21 --res cold --min 4M --max 16M --count 1
	done
}

# Lazily unmounted while a reader has the file open: it reads on; the entry goes
# when the last user has gone.
t_lazy()
{
	e=$(entry /t)
	rm -f /tmp/stop
	mread loopread "$FILE" --seed 21 --stop /tmp/stop >/tmp/lazy.log 2>&1 &
	reader=$!
	sleep 1
	umount -l /t || fail "umount -l failed"
	sleep 2
	exited "$reader" && fail "the reader died: $(cat /tmp/lazy.log)"
	touch /tmp/stop
	wait "$reader" || fail "the reader: $(cat /tmp/lazy.log)"
	native || wait_for 10 gone "$e"
	mount -t "$FS" /dev/mapper/slow /t
	mars_attach /t
	mars_on /t
	mread rdcheck "$FILE" --seed 21 --res cold --min 4M --max 16M --count 2
}

# detach with a reader asleep inside does not wait for it.
t_detach()
{
	native && skip "nothing to detach without MARS"
	e=$(entry /t)
	begin_blocked
	timeout 20 mread put "$SYS/detach" /t || fail "detach failed or waited for a reader"
	gone "$e" || fail "the entry is still there after detach"
	end_blocked
	MREAD_NATIVE=1 mread fpos "$FILE" --seed 21 --chunk 16M
	mars_attach /t
	mars_on /t
}

# rmmod waits for the reader that sleeps inside; meanwhile new reads are native.
t_rmmod()
{
	native && skip "nothing to unload without MARS"
	begin_blocked
	rmmod mars >/tmp/rmmod.log 2>&1 &
	remover=$!
	sleep 3
	exited "$remover" && fail "rmmod ended although a reader sleeps inside: $(cat /tmp/rmmod.log)"
	timeout 20 mread bigread /t2/other --seed 22 --len 16M ||
		fail "a new read does not end while rmmod waits"
	end_blocked
	wait_for 60 exited "$remover"
	wait "$remover" || fail "rmmod: $(cat /tmp/rmmod.log)"
	[ ! -e "$SYS" ] || fail "$SYS is still there after rmmod"
	MREAD_NATIVE=1 mread fpos "$FILE" --seed 21 --chunk 16M
	mars_load
	mars_attach /t
	mars_on /t
	mread rdcheck "$FILE" --seed 21 --res cold --min 4M --max 16M --count 2
}

t setup 120 setup
t truncate 120 t_truncate
t append 90 t_append
t punch 90 t_punch
t kill 120 t_kill
t signal 120 t_signal
t masking 120 t_masking
t ioerror 120 t_ioerror
t umount 180 t_umount
t lazy 90 t_lazy
t detach 120 t_detach
t rmmod 180 t_rmmod
