# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Reads whose I/O is submitted by other CPUs too: the right bytes, in the reader's name,
# and nobody stuck, whatever happens to the file, the reader, the submitter's CPU, the
# mount and the module meanwhile. One file system, $FS, on a mapping named "slow".

FILE=/t/file SEED=81 GROUP=/sys/fs/cgroup/mars-submit
ISSUE=/sys/kernel/tracing/events/block/block_rq_issue
LATE=/sys/module/mars_test_readahead/parameters

setup()
{
	[ "$(nproc)" -ge 2 ] || fail "this guest has $(nproc) CPU, a submitter needs a second one"
	dm_disk slow /dev/mars-disk0
	mount_dm "$FS" slow /t
	mread mkfile "$FILE" "$(scaled 128M 48M)" --seed $SEED
	mread mkfile /t/late 64M --seed $SEED
	mars_load
	mars_attach /t
	mars_on /t
}

executors()
{
	native || put "$(entry /t)/submit_executors" "$1" 0
}

note_relayed()
{
	relayed_before=$(mars_stat /t bytes_relayed)
}

was_relayed()
{
	[ "$(mars_stat /t bytes_relayed)" -gt "$relayed_before" ]
}

cold()
{
	mread rdcheck "$FILE" --seed $SEED --res cold --min 8M --max 32M --count 2 --rng "$(uptime_cs)"
}

# A host that is busy with other things may keep the second CPU from us: go on until a
# submitter did something.
relay_once()
{
	cold
	was_relayed
}

t_bytes()
{
	native && skip "no submitters without MARS"
	large=$(scaled 64M 16M) count=$(scaled 4 2)
	for n in 0 1 2 3 32; do
		executors "$n"
		note_relayed
		echo "submit_executors=$n"
		for res in cold prefix suffix scatter; do
			mread rdcheck "$FILE" --seed $SEED --res $res --min 1M --max "$large" --count "$count" --rng 82
		done
		mread rdcheck "$FILE" --seed $SEED --how readv --min 1M --max "$large" --count "$count" --rng 83
		mread rdcheck "$FILE" --seed $SEED --near-eof --min 16M --max "$large" --count 8 --rng 84
		case $n in
		0 | 1) ! was_relayed || fail "submit_executors=$n, and a submitter submitted" ;;
		*) wait_for 60 relay_once ;;
		esac
	done
	for early in off any ordered; do
		put "$(entry /t)/early_copy" "$early" 0
		mread rdcheck "$FILE" --seed $SEED --min 1M --max "$large" --count "$count" --rng 85
	done
}

# No run of fewer bytes is given away. A run is no longer than a batch.
t_least()
{
	native && skip "no submitters without MARS"
	executors 2
	put "$(entry /t)/submit_min_bytes" 2M 0
	note_relayed
	for i in 1 2 3 4; do
		cold
	done
	! was_relayed || fail "a run of 1 MiB was given away with submit_min_bytes=2M"
	put "$(entry /t)/submit_min_bytes" 1M 0
	wait_for 60 relay_once
	put "$(entry /t)/submit_min_bytes" 256K 0
}

# auto tries more than one, and finds something that this guest has.
t_auto()
{
	native && skip "no submitters without MARS"
	executors auto
	note_relayed
	wait_for 120 relay_once
	for i in 1 2 3 4; do
		cold
	done
	degree=$(cat "$(entry /t)/submit_degree")
	if [ "$degree" -lt 1 ] || [ "$degree" -gt "$(nproc)" ]; then
		fail "submit_degree is $degree, with $(nproc) CPUs"
	fi
	mars_off /t
	mars_on /t
	cold
}

t_readers()
{
	executors 2
	rm -f /tmp/stop
	for i in 1 2 3 4; do
		mread loopread "$FILE" --seed $SEED --stop /tmp/stop --max 48M --rng "$i" >"/tmp/reader.$i" 2>&1 &
		eval "pid$i=$!"
	done
	for i in 1 2 3 4 5 6 7 8; do
		echo 3 >/proc/sys/vm/drop_caches
		sleep 1
	done
	touch /tmp/stop
	for i in 1 2 3 4; do
		eval "wait \$pid$i" || fail "reader $i: $(cat "/tmp/reader.$i")"
	done
}

# Submitters that sleep with a run in their hands: before mread's reads of /t/late they
# do nothing for so many milliseconds.
late()
{
	native && skip "no submitters without MARS"
	insmod /mars/test/kmod/mars_test_readahead.ko path=/t/late late_ms="$1"
	trap 'rmmod mars_test_readahead' EXIT
}

# In the middle of such a read somebody truncates the file: he wants the lock that the
# submitter holds, and then its folios; and the reader wants the lock behind him. Each
# waits only for who is before it, so all come to an end. Then by chance, with bytes
# compared, and with holes.
t_truncate()
{
	late 200
	executors 3
	round=0 end=$(($(uptime_cs) + 60 * TIME_FACTOR * 100))
	while [ $round -lt 6 ] || [ "$(cat $LATE/threads)" = 0 ]; do
		[ "$(uptime_cs)" -lt "$end" ] || fail "no submitter ever had a run of this file"
		round=$((round + 1))
		mread mkfile /t/late 64M --seed $SEED
		mread drop /t/late
		dd if=/t/late of=/dev/null bs=64M count=1 status=none &
		reader=$!
		sleep 0.1
		truncate -s $((round % 7 * 8))M /t/late
		wait $reader
	done
	echo 20 >$LATE/late_ms
	mread truncrace /t/late --size 48M --low 0 --seconds 6
	mread truncrace /t/late --size 64M --low 16M --len 48M --readers 1 --seconds 6
	mread punchrace /t/late --size 48M --seconds 6
}

# The reader is killed while a submitter has a run of it: the submitter goes on with
# what is the reader's, and the reader does not end before. Then nothing is left that
# keeps the file system busy.
t_kill()
{
	late 100
	executors 3
	mread mkfile /t/late 64M --seed $SEED
	for i in 1 2 3 4 5 6 7 8; do
		mread drop /t/late
		mread bigread /t/late --len 64M --seed $SEED &
		reader=$!
		sleep 0.$i
		kill -9 $reader 2>/dev/null || true
		wait $reader || true
	done
	[ "$(cat $LATE/threads)" -gt 0 ] || fail "no submitter ever had a run of this file"
	rmmod mars_test_readahead
	trap - EXIT
	umount /t || fail "the mount is busy after its readers were killed"
	mount -t "$FS" /dev/mapper/slow /t
	mars_attach /t
	mars_on /t
	mread bigread /t/late --len 64M --seed $SEED
}

# Strangers that read the same range, natively and through MARS, get it as well.
t_other_readers()
{
	late 20
	executors 3
	mread mkfile /t/late 64M --seed $SEED
	end=$(($(uptime_cs) + 60 * TIME_FACTOR * 100))
	while [ "$(cat $LATE/threads)" = 0 ]; do
		[ "$(uptime_cs)" -lt "$end" ] || fail "no submitter ever had a run of this file"
		mread drop /t/late
		mread bigread /t/late --len 64M --seed $SEED &
		first=$!
		sleep 0.1
		mread bigread /t/late --off 32M --len 16M --seed $SEED &
		second=$!
		dd if=/t/late of=/dev/null bs=64k status=none
		wait $first
		wait $second
	done
}

# ->readahead leaves folios: they are read natively, those before them are not read
# again, and that submitter has nothing more of that read.
refused_read()
{
	left=0
	while [ "$left" = 0 ]; do
		[ "$(uptime_cs)" -lt "$end" ] || fail "no submitter came to refuse anything"
		mread drop /t/late
		echo 1 >$LATE/refuse
		refused=$(mars_stat /t bytes_refused) threads=$(cat $LATE/threads)
		sectors=$(awk '{ print $3 }' "/sys/block/${dev##*/}/stat")
		mread bigread /t/late --len 64M --seed $SEED
		sectors=$(($(awk '{ print $3 }' "/sys/block/${dev##*/}/stat") - sectors))
		left=$(($(mars_stat /t bytes_refused) - refused))
		threads=$(($(cat $LATE/threads) - threads))
	done
	[ "$threads" = 1 ] || fail "after a refusal submitters were given $((threads - 1)) runs more"
	# Each sector once; the file system's own blocks aside.
	if [ "$sectors" -lt 131072 ] || [ "$sectors" -gt 131584 ]; then
		fail "64 MiB are 131072 sectors, and $sectors were read"
	fi
}

t_refuse()
{
	late 0
	dev=$(readlink -f /dev/mars-disk0)
	mread mkfile /t/late 64M --seed $SEED
	executors 2
	# Or a run is one folio, of which nothing can be left.
	put "$(entry /t)/max_folio_bytes" 64K 0
	end=$(($(uptime_cs) + 60 * TIME_FACTOR * 100))
	for i in 1 2 3 4 5; do
		refused_read
	done
	[ "$(mars_stat /t native_reissue)" -gt 0 ] || fail "what was refused was not read natively"
	put "$(entry /t)/max_folio_bytes" 2M 0
}

# The same with a sector that cannot be read: prefix, EIO, and nothing written behind.
t_ioerror()
{
	executors 2
	bad=40M
	trap 'dm_go slow || true' EXIT
	dm_bad slow "$(mread physical "$FILE" $bad)"
	mread ioerror "$FILE" --bad $bad --seed $SEED --granule "${GRANULE:-2M}"
	dm_go slow
	mread fpos "$FILE" --seed $SEED --chunk 16M
}

# In the reader's name: what its process has read, its block cgroup, its I/O priority.
# These programs compare with native reads; here some of it goes by submitters.
until_relayed()
{
	executors 4
	note_relayed
	end=$(($(uptime_cs) + 120 * TIME_FACTOR * 100))
	while :; do
		"$@" || fail "with submitters this fails: $*"
		! was_relayed || return 0
		[ "$(uptime_cs)" -lt "$end" ] || fail "no submitter came during: $*"
	done
}

t_procio()
{
	native && skip "no submitters without MARS"
	until_relayed mread procio /t/late --seed $SEED
}

t_blkcg()
{
	native && skip "no submitters without MARS"
	[ -d $GROUP ] || {
		echo "+memory +io" >/sys/fs/cgroup/cgroup.subtree_control
		mkdir $GROUP
		echo "+memory +io" >$GROUP/cgroup.subtree_control
	}
	until_relayed mread blkcg /t/late --group $GROUP --seed $SEED
	rmdir $GROUP
}

# Every request of a read has the priority that its process has, whoever submits it.
issued_as()
{
	mread drop /t/late
	echo >/sys/kernel/tracing/trace
	ionice -c "$1" -n "$2" mread bigread /t/late --len 32M --seed $SEED
	awk -v disk="$(mountpoint -x "$(readlink -f /dev/mars-disk0)" | tr : ,)" -v want="$3,0,$2" '
		{
			for (i = 1; i < NF && $i != "block_rq_issue:"; i++)
				;
			if ($(i + 1) != disk || $(i + 2) !~ /^R/ || $(i + 2) ~ /M/)
				next
			if ($(i + 2) !~ /^RA/) {
				print "FAILED: a request without REQ_RAHEAD: " $0
				wrong = 1
				exit 1
			}
			requests++
			if ($(NF - 1) != want) {
				print "FAILED: a request went out as " $(NF - 1) ", not as " want ": " $0
				wrong = 1
				exit 1
			}
		}
		END {
			if (wrong || !requests)
				exit 1
			print requests " requests as " want
		}' /sys/kernel/tracing/trace
}

t_ioprio()
{
	native && skip "no submitters without MARS"
	grep -q ioprio $ISSUE/format || skip "this kernel's tracepoint does not tell a request's priority"
	trap 'echo 0 >$ISSUE/enable' EXIT
	echo 1 >$ISSUE/enable
	for prio in "1 5 rt" "2 7 be" "3 7 idle" "2 0 be"; do
		# shellcheck disable=SC2086  # three words
		until_relayed issued_as $prio
	done
}

# While nothing is enabled, one executor is asked for, or the reader has more right to a
# CPU than a submitter would, none wakes up.
t_idle()
{
	native && skip "no submitters without MARS"
	executors 2
	submitters=$(thread_switches mars_submit)
	[ "$(echo "$submitters" | wc -l)" = "$(nproc)" ] ||
		fail "there are other submitters than one a CPU: $submitters"
	mread drop "$FILE"
	FILE=$FILE SEED=$SEED sh -c 'renice -n -5 -p $$ && exec mread bigread "$FILE" --seed "$SEED" --len 32M'
	mars_off /t
	mread drop "$FILE"
	MREAD_NATIVE=1 mread bigread "$FILE" --seed $SEED --len 32M
	mars_on /t
	executors 1
	cold
	[ "$(thread_switches mars_submit)" = "$submitters" ] ||
		fail "submitters were woken for nothing: $submitters, then $(thread_switches mars_submit)"
	executors 2
}

# With a busy CPU everywhere nobody is called; the reads are right nevertheless.
t_busy()
{
	native && skip "no submitters without MARS"
	executors 4
	hog_cpus
	before=$(mars_stat /t relays)
	cold
	cold
	relays=$(($(mars_stat /t relays) - before))
	[ "$relays" -le 2 ] || fail "$relays runs were given to submitters on busy CPUs"
}

t_cpus()
{
	native && skip "no submitters without MARS"
	executors 2
	put "$SYS/workers/cpus" 0 0
	submitters=$(thread_switches mars_submit/1)
	for i in 1 2 3 4; do
		cold
	done
	[ "$(thread_switches mars_submit/1)" = "$submitters" ] ||
		fail "a submitter was woken on a CPU that workers/cpus does not name"
	put "$SYS/workers/cpus" "0-1" 0
	note_relayed
	taskset 1 mread rdcheck "$FILE" --seed $SEED --res cold --min 16M --max 16M --count 2
	! was_relayed || fail "a run was submitted on a CPU that the reader may not use"
	wait_for 60 relay_once
}

t_hotplug()
{
	[ -w /sys/devices/system/cpu/cpu1/online ] || skip "this kernel has no CPU hotplug"
	native && skip "no submitters without MARS"
	late 20
	executors 2
	rm -f /tmp/stop
	(
		while [ ! -e /tmp/stop ]; do
			mread drop /t/late
			mread bigread /t/late --len 64M --seed $SEED || exit 1
		done
	) >/tmp/reader.log 2>&1 &
	reader=$!
	replug_cpu1
	touch /tmp/stop
	wait "$reader" || fail "the reader: $(cat /tmp/reader.log)"
	note_relayed
	wait_for 60 relay_once
}

# rmmod in the middle of reads whose runs submitters have.
t_rmmod()
{
	late 20
	for i in 1 2 3 4 5 6; do
		executors 2
		mread drop /t/late
		mread bigread /t/late --len 64M --seed $SEED >/tmp/reader.log 2>&1 &
		reader=$!
		sleep 0.$i
		rmmod mars || fail "rmmod number $i failed"
		wait "$reader" || fail "the reader: $(cat /tmp/reader.log)"
		[ -z "$(thread_switches mars_submit)" ] || fail "submitters are left: $(thread_switches mars_submit)"
		mars_load
		mars_attach /t
		mars_on /t
	done
	executors 2
	note_relayed
	wait_for 60 relay_once
}

t setup 120 setup
t bytes 240 t_bytes
t least 120 t_least
t auto 180 t_auto
t readers 90 t_readers
t truncate 120 t_truncate
t kill 120 t_kill
t other-readers 120 t_other_readers
t refuse 120 t_refuse
t ioerror 90 t_ioerror
t procio 240 t_procio
t blkcg 240 t_blkcg
t ioprio 180 t_ioprio
t idle 60 t_idle
t busy 120 t_busy
t cpus 120 t_cpus
t hotplug 120 t_hotplug
t rmmod 180 t_rmmod
