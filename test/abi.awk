# SPDX-License-Identifier: GPL-2.0-only
#
# Checks documents in the kernel's ABI format: known tags in their order, none
# missing, none empty, no file described twice. Exits non-zero on a complaint.

function complain(text)
{
	print FILENAME ":" FNR ": " text
	bad = 1
}

function finish()
{
	if (!entry)
		return
	if (!("Date" in seen))
		complain("the entry for " entry " has no Date:")
	if (!("KernelVersion" in seen) && !("Contact" in seen))
		complain("the entry for " entry " has neither KernelVersion: nor Contact:")
	if (!("Description" in seen) || !described)
		complain("the entry for " entry " has no Description:")
	entry = ""
	described = 0
	split("", seen)
}

FNR == 1 && NR > 1 { finish() }

/^[A-Za-z]+:/ {
	tag = $1
	sub(/:.*/, "", tag)
	value = $0
	sub(/^[A-Za-z]+:[ \t]*/, "", value)
	if (tag !~ /^(What|Date|KernelVersion|Contact|Description|Users)$/) {
		complain("unknown tag " tag ":")
		next
	}
	if (tag == "What") {
		if ("Date" in seen || "Description" in seen)
			finish()
		if (value !~ /^\/sys\/[^ ]+$/)
			complain("What: is not a path below /sys: " value)
		if (value in what)
			complain(value " is described twice")
		what[value] = 1
		entry = value
		next
	}
	if (!entry)
		complain(tag ": before any What:")
	if (tag in seen)
		complain(tag ": twice in the entry for " entry)
	seen[tag] = 1
	if (tag == "Description")
		described = value != ""
	else if (value == "")
		complain(tag ": is empty")
	if (tag == "Date" && value !~ /^(January|February|March|April|May|June|July|August|September|October|November|December) 20[0-9][0-9]$/)
		complain("Date: is not a month and a year: " value)
	next
}

/^[ \t]+[^ \t]/ {
	if ("Description" in seen)
		described = 1
	next
}

/[^ \t]/ { complain("neither a tag nor indented: " $0) }

END {
	finish()
	if (!length(what))
		complain("no entry at all")
	exit bad
}
