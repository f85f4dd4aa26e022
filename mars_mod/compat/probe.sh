#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# probe.sh SRCTREE SRCARCH: look at what the kernel's headers declare and print
# -D flags for compat.h. Versions say little: stable series carry backports.
# A declaration in no known form is an error, never a guess; compat.h checks
# the types once more when it is compiled.
set -eu

tree=$1
arch=$2

fail() {
	echo "$1 in $tree/include: this kernel is not supported yet; teach mars_mod/compat about it"
	exit 1
}

# The header's text on one line, blanks squeezed, for matching declarations.
flat() {
	cat "$@" 2>/dev/null | tr -s ' \t\n' '   '
}

if [ -e "$tree/include/linux/folio_batch.h" ]; then
	echo "-DMARS_HAVE_FOLIO_BATCH_H"
elif [ ! -e "$tree/include/linux/pagevec.h" ]; then
	fail "neither linux/folio_batch.h nor linux/pagevec.h"
fi

pagemap=$(flat "$tree/include/linux/pagemap.h")
case $pagemap in
*"filemap_alloc_folio(gfp_t gfp, unsigned int order);"* | \
*"filemap_alloc_folio_noprof(gfp_t gfp, unsigned int order);"*) ;;
*"filemap_alloc_folio_noprof(gfp_t gfp, unsigned int order, struct mempolicy *"*)
	echo "-DMARS_FILEMAP_ALLOC_HAS_POLICY" ;;
*) fail "no known form of filemap_alloc_folio()" ;;
esac

case $pagemap in
*"mapping_min_folio_order("*"mapping_max_folio_order("* | \
*"mapping_max_folio_order("*"mapping_min_folio_order("*)
	echo "-DMARS_MAPPING_HAS_ORDERS" ;;
*"mapping_min_folio_order("* | *"mapping_max_folio_order("*)
	fail "only one of mapping_min_folio_order() and mapping_max_folio_order()" ;;
*"mapping_large_folio_support("*) ;;
*) fail "no mapping_large_folio_support()" ;;
esac

sched=$(flat "$tree/include/linux/sched.h")
case $sched in
*"struct request_queue *throttle_queue;"*) echo "-DMARS_THROTTLE_IS_QUEUE" ;;
*"struct gendisk *throttle_disk;"*) ;;
*) fail "no known form of the task's pending block throttling" ;;
esac

ftrace=$(flat "$tree/include/linux/ftrace.h" "$tree/include/linux/ftrace_regs.h" \
	"$tree/arch/$arch/include/asm/ftrace.h")
case $ftrace in
*"ftrace_regs_get_argument("*) echo "-DMARS_FREGS_HAS_ARGUMENT" ;;
*"struct ftrace_regs { struct pt_regs regs; };"*) ;;
*) fail "no known way to an argument of a traced function" ;;
esac
case $ftrace in
*"ftrace_regs_set_instruction_pointer("*) echo "-DMARS_FREGS_HAS_SET_IP" ;;
*"ftrace_instruction_pointer_set("*) ;;
*) fail "no known way to set a traced function's instruction pointer" ;;
esac

case $(flat "$tree/include/linux/kernel_stat.h") in
*"kcpustat_field_idle(int cpu)"*"kcpustat_field_iowait(int cpu)"*) echo "-DMARS_HAVE_KCPUSTAT_IDLE" ;;
*)
	case $(flat "$tree/include/linux/tick.h") in
	*"get_cpu_idle_time_us(int cpu, u64 *"*"get_cpu_iowait_time_us(int cpu, u64 *"*) ;;
	*) fail "no known way to a CPU's idle time" ;;
	esac ;;
esac
