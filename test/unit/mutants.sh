#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mutants.sh OUT CC-COMMAND…: shows that test_protocol, test_protocol_race,
# test_handover, test_controller and test_depth can fail. Each line below makes one
# transition or one barrier of core/protocol.c or core/handover.c wrong, which the
# exploration, or the thread sanitizer, must find; or takes something from
# core/controller.c or core/depth.c, which must show in the simulation. An edit that
# changes nothing is a failure too: the source has moved on.
set -eu

out=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
core=$here/../../mars_mod/core
nr=0 missed=0

# mutant NAME SED-PROGRAM [race|handover|controller|depth]
mutant()
{
	local name=$1 file=$out/$1.c log=$out/$1.log tries=1 source=protocol
	local how=("$here/test_protocol.c" "$here/explore.c" -DSTOP_AT_WRONG)

	case ${3-} in
	# The sanitizer sees only what did overlap: on a busy machine that may take more
	# than one run.
	race) tries=10 how=("$here/test_protocol_race.c" -fsanitize=thread) ;;
	controller | depth) source=$3 how=("$here/test_$3.c" -O2) ;;
	handover) source=handover how=("$here/test_handover.c" "$here/explore.c") ;;
	esac

	nr=$((nr + 1))
	sed -e "$2" "$core/$source.c" >"$file"
	if cmp -s "$core/$source.c" "$file"; then
		echo "FAILED: mutant $name: its edit matches nothing in core/$source.c"
		missed=$((missed + 1))
		return
	fi
	if ! "${cc[@]}" -Wno-unused "-D${source^^}=\"$file\"" -o "$out/$name" \
		"${how[@]}" -lcmocka -lm >"$log" 2>&1; then
		echo "FAILED: mutant $name does not compile: $(grep -m1 error "$log")"
		missed=$((missed + 1))
		return
	fi
	# A crash finds it as well.
	while [ $tries -gt 0 ] && TSAN_OPTIONS=halt_on_error=1 timeout 300 "$out/$name" >"$log" 2>&1; do
		tries=$((tries - 1))
	done
	if [ $tries = 0 ]; then
		echo "FAILED: mutant $name was not found to be wrong"
		missed=$((missed + 1))
	else
		echo "mutant $name: $(sed -n 's/.* ends, //p; s/^WARNING: ThreadSanitizer: //p; s/^ERROR: //p' "$log" |
			grep -v '^all right' | head -n 1)"
	fi
}

cc=("$@")
# A worker claims with two accesses instead of one.
mutant claim 's/mars_cmpxchg(&item->state, MARS_ITEM_UNFINISHED, MARS_ITEM_PARTIAL)/({ mars_store_release(\&item->state, MARS_ITEM_PARTIAL); true; })/'
# So does the master when it takes back.
mutant take_back '/^struct mars_item \*mars_job_next/,/^}/ {
	s/mars_cmpxchg(&item->state, MARS_ITEM_UNFINISHED,$/({ mars_store_release(\&item->state,/
	s/MARS_ITEM_CANCELED_BY_MASTER))/MARS_ITEM_CANCELED_BY_MASTER); true; }))/
}'
# It takes an item away from a worker that has begun.
mutant take_running '/^struct mars_item \*mars_job_next/,/^}/ s/if (state == MARS_ITEM_CANCELED)/if (state == MARS_ITEM_CANCELED || state == MARS_ITEM_PARTIAL)/'
# It does not wait for an item that a worker is at.
mutant no_await '/^int mars_job_finish/,/^}/ s/while (mars_job_await(job))/while (0)/'
# It lets a worker go in the middle of a visit.
mutant no_recall_wait 's/if (state != MARS_POST_RUNNING \&\&/if (/'
# A visit that nobody can see.
mutant hidden_visit 's/MARS_POST_PENDING, MARS_POST_RUNNING)/MARS_POST_PENDING, MARS_POST_PENDING)/'
# A visit that ends before its item is published.
mutant early_leave '/^enum mars_visit mars_visit/,/^}/ s/job->execute(job, item);/mars_store_release(\&post->state, MARS_POST_PENDING); &/'
# What a worker left is passed off as finished.
mutant no_restore '/^enum mars_visit mars_visit/,/^}/ s/MARS_ITEM_CANCELED)/MARS_ITEM_FINISHED)/'
# An item is offered before it is filled in.
mutant early_offer '/^void mars_job_add/,/^}/ {
	s/item->start = start;/mars_store_release(\&item->state, MARS_ITEM_UNFINISHED); mars_store_release(\&job->head, job->head + 1); mars_step(); &/
	s/mars_store_release(&job->head, job->head + 1);$/;/
	s/^\tmars_store_release(&item->state, MARS_ITEM_UNFINISHED);$/\t;/
}'
# The master waits for items that nobody has begun.
mutant wait_for_sleeper '/^struct mars_item \*mars_job_next/,/^}/ s/if (state == MARS_ITEM_UNFINISHED \&\&/if (0 \&\&/
/^bool mars_job_await/,/^}/ s/== MARS_ITEM_PARTIAL)/!= MARS_ITEM_FINISHED)/'

# The barriers.
relaxed='__atomic_store_n(\1, __ATOMIC_RELAXED);'
mutant weak_offer "/^void mars_job_add/,/^}/ s/mars_store_release(\(.*\));/$relaxed/" race
mutant weak_publish '/^enum mars_visit mars_visit/,/^}/ {
	s/mars_store_release(&item->state, what == MARS_VISIT_FINISHED ?/__atomic_store_n(\&item->state, what == MARS_VISIT_FINISHED ?/
	s/MARS_ITEM_FINISHED : MARS_ITEM_CANCELED);/MARS_ITEM_FINISHED : MARS_ITEM_CANCELED, __ATOMIC_RELAXED);/
}' race
mutant weak_call "/^bool mars_post_call/,/^}/ s/mars_store_release(\(.*\));/$relaxed/" race
mutant weak_leave "/^enum mars_visit mars_visit/,/^}/ s/mars_store_release(\(.*MARS_POST_PENDING\));/$relaxed/" race

# A submitter takes with two accesses instead of one; so does the read when it takes back.
mutant double_take '/^void \*mars_handover_take/,/^}/ s/if (!mars_cmpxchg(&handover->state, MARS_HANDOVER_OFFERED, MARS_HANDOVER_TAKEN))/mars_store_release(\&handover->state, MARS_HANDOVER_TAKEN); if (0)/' handover
mutant blind_withdraw '/^bool mars_handover_withdraw/,/^}/ s/return mars_cmpxchg(\(&handover->state\), MARS_HANDOVER_OFFERED, \(MARS_HANDOVER_RESERVED\));/mars_store_release(\1, \2); return true;/' handover
# The read believes that what it has offered was taken: it waits for who never comes.
mutant no_withdraw '/^bool mars_handover_withdraw/,/^}/ s/return mars_cmpxchg(.*/return false;/' handover
# It does not wait for what was taken, or is told too early that it is done.
mutant blind_collect '/^bool mars_handover_collect/,/^}/ s/return mars_cmpxchg(\(&handover->state\), MARS_HANDOVER_DONE, \(MARS_HANDOVER_RESERVED\));/mars_store_release(\1, \2); return true;/' handover
mutant collect_taken '/^bool mars_handover_collect/,/^}/ s/MARS_HANDOVER_DONE/MARS_HANDOVER_TAKEN/' handover
# A piece is offered before it is there.
mutant offer_first '/^void mars_handover_offer/,/^}/ s/handover->work = work;/mars_store_release(\&handover->state, MARS_HANDOVER_OFFERED); mars_step(); &/' handover

# A controller that never tries, or never has enough of it.
mutant never '/^static void look_around/,/^}/ s/while (controller->lost < 2)/while (0)/' controller
mutant restless 's/^#define REST_FIRST .*/#define REST_FIRST 1/; s/^#define REST_MOST .*/#define REST_MOST 1/' controller
# One that believes what it sees once; that takes more for nothing; that never takes fewer.
mutant hasty 's/^#define PAIRS .*/#define PAIRS 1/; s/^#define DISSENT .*/#define DISSENT 0/' controller
mutant greedy 's/^#define WORTH_IT .*/#define WORTH_IT (-200)/; s/^#define DISSENT .*/#define DISSENT 0/' controller
mutant upwards 's/^#define NO_WORSE .*/#define NO_WORSE 2000/; s/^#define CLEAR_WINS .*/#define CLEAR_WINS 99/' controller
# One that does not see that the device has become another.
mutant unmoved 's/^#define CHANGE_TIMES .*/#define CHANGE_TIMES 1000000/' controller
# One that asks for more than there are CPUs.
mutant beyond '/^unsigned int mars_controller_degree/,/^}/ s/return min(.*/return present(controller);/; s/min(degree + step, controller->most)/degree + step/' controller
# One that does not look at what it was told of another degree.
mutant mixed 's/sample->degree != min(present(controller), controller->most)/0/' controller

# A limit that is too small, none at all, or one that the last curve alone decides.
mutant shallow 's/^#define KNEE_PERCENT .*/#define KNEE_PERCENT 40/' depth
mutant boundless 's/depth->limit = depth->nr < CURVES_FIRST ? .*/depth->limit = MARS_DEPTH_NONE;/' depth
mutant forgetful 's/most = max(most, depth->knee\[i\]);/most = knee;/' depth
# One that is never tried with more; that believes a short curve; that never falls.
mutant content 's/^#define PROBE_TIMES .*/#define PROBE_TIMES 1/' depth
mutant credulous 's/^#define BENT_TIMES .*/#define BENT_TIMES 1/' depth
mutant sticky 's/depth->knee\[depth->nr++ % MARS_DEPTH_KNEES\] = knee;/depth->knee[depth->nr++ % MARS_DEPTH_KNEES] = max(knee, depth->limit + 1 ? depth->limit : 0);/' depth

[ "$missed" = 0 ] || { echo "FAILED: $missed of $nr mutants"; exit 1; }
echo "[  PASSED  ] $nr mutants found"
