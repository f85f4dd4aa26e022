# SPDX-License-Identifier: GPL-2.0-only
#
# MARS: build, test, measure, install. `make help` says how.

KDIR ?= /lib/modules/$(shell uname -r)/build
VERSION := $(shell sed -n 's/^\#define MARS_VERSION "\(.*\)"$$/\1/p' include/mars/version.h)
SRC := /usr/src/mars-$(VERSION)

# A kernel that is not in kconfig/kernels.list: BZIMAGE=, MODULES= and KDIR=.
ifneq ($(BZIMAGE),)
ifeq ($(and $(MODULES),$(filter command environment,$(firstword $(origin KDIR)))),)
$(error BZIMAGE= needs MODULES= (its module directory) and KDIR= (its build directory) too)
endif
suite := --foreign $(BZIMAGE) $(MODULES) $(KDIR)
else
suite := $(foreach k,$(KERNELS),--kernel $(k))
endif
suite += $(if $(ONLY),--only '$(ONLY)')

.PHONY: all check check-long check-debug unit lint demo install uninstall clean help

all:
	@test -e $(KDIR)/Makefile || { echo "no kernel headers in $(KDIR): install the package linux-headers-$$(uname -r), or give KDIR="; exit 1; }
	$(MAKE) -C $(KDIR) M=$(CURDIR)/mars_mod modules

check:
	test/setup check lint
	test/run $(suite)

check-long:
	test/setup check lint
	test/run --long $(suite)

check-debug:
	test/setup check debug
	test/run --debug $(if $(ONLY),--only '$(ONLY)')

unit:
	test/setup check
	$(MAKE) -s -C test/unit check

lint:
	test/setup lint
	test/lint

demo:
	test/setup bench
	bench/demo

install:
	@command -v dkms >/dev/null || { echo "dkms is missing: install the package dkms"; exit 1; }
	@test "$$(id -u)" = 0 || { echo "make install writes to /usr/src and loads nothing; run it as root"; exit 1; }
	rm -rf $(SRC)
	mkdir -p $(SRC)
	cp -r mars_mod include LICENSE $(SRC)/
	$(MAKE) -s -C $(SRC)/mars_mod -f $(CURDIR)/Makefile sweep
	sed 's/@VERSION@/$(VERSION)/' dkms.conf >$(SRC)/dkms.conf
	dkms status -m mars -v $(VERSION) | grep -q . || dkms add -m mars -v $(VERSION)
	dkms install --force -m mars -v $(VERSION)
	@$(MAKE) -s secure-boot
	@echo "installed; load it with: modprobe mars"

# A signed module whose key the firmware does not know is refused at load time.
.PHONY: secure-boot sweep
secure-boot:
	@command -v mokutil >/dev/null || exit 0; \
	mokutil --sb-state 2>/dev/null | grep -q 'SecureBoot enabled' || exit 0; \
	key=$$(ls /var/lib/dkms/mok.pub /var/lib/shim-signed/mok/MOK.der 2>/dev/null | head -n 1); \
	if [ -n "$$key" ] && mokutil --test-key "$$key" 2>/dev/null | grep -q 'already enrolled'; then exit 0; fi; \
	echo "Secure Boot is on and the key that DKMS signs with is not enrolled: the kernel will"; \
	echo "refuse the module (\"Key was rejected by service\"). Enrol it once:"; \
	echo "  mokutil --import $${key:-/var/lib/dkms/mok.pub}    (asks for a password of your choice)"; \
	echo "  reboot, choose \"Enroll MOK\" in the blue screen and type that password"

# What a build in the checkout may have left in the copy.
sweep:
	find . \( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' -o -name '.*.cmd' \
		-o -name Module.symvers -o -name modules.order \) -delete

uninstall:
	@command -v dkms >/dev/null || { echo "dkms is missing, so nothing was installed with it"; exit 1; }
	dkms remove -m mars -v $(VERSION) --all
	rm -rf $(SRC)
	@echo "removed; a loaded module stays until: rmmod mars"

clean:
	@! test -e $(KDIR)/Makefile || $(MAKE) -C $(KDIR) M=$(CURDIR)/mars_mod clean
	@cd mars_mod && $(MAKE) -s -f ../Makefile sweep

help:
	@echo 'make               the module, for the running kernel or KDIR=DIRECTORY'
	@echo 'make check         all tests on Debian kernels 6.1, 6.12 and 7.3 in guests; as root'
	@echo '                     KERNELS="debian-6.12"            only these'
	@echo '                     BZIMAGE= MODULES= KDIR=          only this other kernel'
	@echo '                     ONLY="debian-6.12/data/xfs/*"    only these tests'
	@echo 'make check-long    the same, longer'
	@echo 'make check-debug   the functional tests on a kernel with KASAN, lockdep, kmemleak'
	@echo 'make unit, lint    only the unit tests, only the checks of the sources'
	@echo 'make demo          large reads measured with and without MARS; 8 minutes'
	@echo 'make install       through DKMS; make uninstall takes it away'
	@echo 'make clean         what was built in the checkout'
