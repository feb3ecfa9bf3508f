# SPDX-License-Identifier: GPL-2.0-or-later
# make            build/synhold
# make demo       a reconnect storm without and with the shield, in private namespaces (root)
# make test       everything: unit, prog, kernel and e2e tests (root)
# make help       the rest

VERSION := $(shell cat VERSION)
PREFIX ?= /usr/local
SBINDIR ?= $(PREFIX)/sbin
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
DOCDIR ?= $(DATADIR)/doc/synhold
UNITDIR ?= $(PREFIX)/lib/systemd/system
UNITS := synhold.service synhold@.service synhold-metrics.service synhold-metrics.timer
BUILD ?= build
CLANG ?= clang
BPFTOOL ?= $(shell command -v bpftool || echo /usr/sbin/bpftool)
PKG_CONFIG ?= pkg-config
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
# make V=1 shows the commands
Q := $(if $(V),,@)
say = $(if $(V),,@echo '  $(1)' $@)

SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

WARNINGS := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes
LIBS_PKG := libbpf libelf zlib libevent_core inih jansson smartcols ncursesw libmnl libmicrohttpd libseccomp libcap-ng
# for --chain; make LIBXDP= builds without, as where libxdp-dev is not
LIBXDP ?= $(shell $(PKG_CONFIG) --exists libxdp 2>/dev/null && echo libxdp)
CFLAGS ?= -O2 -g
ALL_CFLAGS = -std=gnu11 $(CFLAGS) $(WARNINGS) -D_GNU_SOURCE -DSYNHOLD_VERSION='"$(VERSION)"' -Iinclude -Iuser -I. -I$(BUILD)/gen \
	$(shell $(PKG_CONFIG) --cflags $(LIBS_PKG) $(LIBXDP) 2>/dev/null) -MMD -MP -ffile-prefix-map=$(CURDIR)=. $(SANITIZE)
LIBS = $(shell $(PKG_CONFIG) --libs $(LIBS_PKG) $(LIBXDP) 2>/dev/null) -lpthread -lm
BPF_CFLAGS := -O2 -g -mcpu=v3 -target bpf -Wall -Wextra -Werror -Wno-unused-parameter -Iinclude -Ibpf -I/usr/include/$(MULTIARCH)

SRC := $(wildcard user/lib/*.c user/daemon/*.c user/cli/*.c user/export/*.c user/drill/*.c)
OBJ := $(filter-out $(if $(LIBXDP),%/chain_none.o,%/chain.o),$(SRC:%.c=$(BUILD)/%.o))
CORE_OBJ := $(filter-out $(BUILD)/user/cli/main.o,$(OBJ))
CORE := $(BUILD)/libcore.a
SKEL := $(addprefix $(BUILD)/gen/,synhold.skel.h synhold_static.skel.h synhold_lock.skel.h probe.skel.h)
OBJECTS := $(addprefix $(BUILD)/,synhold.bpf.o synhold_static.bpf.o synhold_lock.bpf.o)
UNIT := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/test_*.c))
UNIT_HELP := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(wildcard tests/unit/test_*.c),$(wildcard tests/unit/*.c)))
PROG := $(patsubst tests/prog/%.c,$(BUILD)/tests/prog/%,$(wildcard tests/prog/test_*.c))
PROG_HELP := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(wildcard tests/prog/test_*.c),$(wildcard tests/prog/*.c)))
E2E_MODULES := $(BUILD)/tests/node/node_modules/.package-lock.json
E2E_TOOLS := $(patsubst tests/e2e/tools/%.c,$(BUILD)/tests/e2e/%,$(filter-out %.bpf.c,$(wildcard tests/e2e/tools/*.c)))

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all help clean deps demo test soak test-unit test-prog test-kernel test-e2e test-deploy deploy-binaries unit-binaries prog-binaries kernel-binaries \
	e2e-binaries bench-binaries compile-flags bpf-compile-flags bench bench-order lint install uninstall dist deb

all: $(BUILD)/synhold

help:
	@sed -n 's/^# make/make/p' Makefile
	@echo 'make test-unit | test-prog | test-kernel | test-e2e   one kind of tests'
	@echo 'make test-deploy  package, units and container image, on a clean Debian with a systemd of its own'
	@echo 'make soak       the long tests: an hour'
	@echo 'make lint       formatting, static analysis, dependency rule'
	@echo 'make bench      measurements, as ratios of one run'
	@echo 'make bench-order  who goes next: orders of release against simulated fleets'
	@echo 'make deps       install the Debian packages that building and testing need'
	@echo 'make install    honours DESTDIR and PREFIX; make uninstall takes it back'
	@echo 'make dist       a source archive, the same bytes each time; make deb: a Debian package'

$(BUILD)/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h include/synhold/*.h $(BUILD)/include/synhold/*.h)
	@mkdir -p $(@D)
	$(call say,BPF )
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

# the same for kernels before 6.2, and before 5.12
$(BUILD)/synhold_static.bpf.o: older := -DCOMPAT_STATIC
$(BUILD)/synhold_lock.bpf.o: older := -DCOMPAT_STATIC -DCOMPAT_LOCK
$(BUILD)/synhold_static.bpf.o $(BUILD)/synhold_lock.bpf.o: bpf/synhold.bpf.c $(wildcard bpf/*.h include/synhold/*.h)
	@mkdir -p $(@D)
	$(call say,BPF )
	$(Q)$(CLANG) $(BPF_CFLAGS) $(older) -c $< -o $@

$(BUILD)/gen/%.skel.h: $(BUILD)/%.bpf.o
	@mkdir -p $(@D)
	$(call say,SKEL)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@

$(BUILD)/%.o: %.c | $(SKEL)
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

$(addprefix $(BUILD)/user/lib/,deploy.o programs.o attach.o older.o upgrade.o chain.o chain_pins.o) $(BUILD)/user/daemon/release.o: $(SKEL)

$(BUILD)/synhold: $(OBJ)
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) $^ $(LIBS) -o $@

# as it is without libxdp, for the tests
$(BUILD)/synhold-unchained: $(filter-out %/chain.o %/chain_none.o,$(OBJ)) $(BUILD)/user/lib/chain_none.o
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) $^ $(filter-out -lxdp,$(LIBS)) -o $@

# an archive, so that a test links only what it calls
$(CORE): $(CORE_OBJ)
	$(call say,AR  )
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(UNIT_HELP) $(CORE)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) $^ $(LIBS) -lcmocka -o $@

$(BUILD)/tests/prog/%: $(BUILD)/tests/prog/%.o $(PROG_HELP) $(CORE)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) $^ $(LIBS) -lcmocka -o $@

$(BUILD)/tests/e2e/turn: $(CORE)
$(BUILD)/tests/e2e/tls_%: LIBS += -lssl -lcrypto
$(BUILD)/tests/e2e/%: $(BUILD)/tests/e2e/tools/%.o
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

deps:
	$(SUDO) tests/deps.sh

demo: deps
	$(MAKE) --no-print-directory all
	$(SUDO) $(BUILD)/synhold drill trello --drop 100%

test:
	$(SUDO) tests/deps.sh test
	$(SUDO) env BUILD=$(BUILD) tests/run.sh

# tests/run.sh builds what it runs; the kinds that need root get it here
test-unit:
	BUILD=$(BUILD) tests/run.sh unit

test-prog:
	$(SUDO) env BUILD=$(BUILD) tests/run.sh prog

test-kernel:
	BUILD=$(BUILD) tests/run.sh kernel

test-e2e:
	$(SUDO) env BUILD=$(BUILD) tests/run.sh e2e

# the long ones, of which make test runs a small part each
soak:
	$(SUDO) tests/deps.sh test
	$(SUDO) env BUILD=$(BUILD) TEST_LIMIT_S=20000 SYNHOLD_E2E_ROUNDS=200 SYNHOLD_E2E_CONNECTIONS=10000000 \
		SYNHOLD_E2E_HERD=50000 SYNHOLD_E2E_DEAD_SECONDS=60 FLOOD_SYNS=1000000 \
		tests/run.sh e2e test_chaos test_many test_cost test_daemon test_flood

# minutes, a gigabyte, and packages from the network: not a part of make test
test-deploy:
	$(SUDO) tests/deps.sh deploy
	$(SUDO) env BUILD=$(BUILD) tests/run.sh deploy

unit-binaries: $(UNIT)
prog-binaries: $(PROG) $(OBJECTS) $(BUILD)/tests/fuzz/parse.bpf.o
e2e-binaries: all $(BUILD)/synhold-unchained $(E2E_TOOLS) $(E2E_MODULES) bench-binaries next

# what the Node.js server and its clients of the tests need, exactly as the lock file has it
$(E2E_MODULES): tests/e2e/node/package.json tests/e2e/node/package-lock.json
	@mkdir -p $(dir $(@D))
	$(call say,NPM )
	$(Q)cp $^ $(dir $(@D))
	$(Q)cd $(dir $(@D)) && npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --cache .cache >npm.log 2>&1 || \
		{ tail -n 5 npm.log; echo 'no modules for the tests of socket.io: npm (tests/deps.sh test) and the network are needed'; exit 1; }
	@touch $@

# the same program with the types of a later version, for the tests of upgrades
.PHONY: next
$(BUILD)/next/include/synhold/abi.h: include/synhold/abi.h tests/e2e/next_abi.sed
	@mkdir -p $(@D)
	$(Q)sed -f tests/e2e/next_abi.sed $< >$@
next: $(BUILD)/next/include/synhold/abi.h
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/next CFLAGS='-O1 -I$(BUILD)/next/include' WARNINGS= SANITIZE= \
		BPF_CFLAGS='-I$(BUILD)/next/include $(BPF_CFLAGS)' $(BUILD)/next/synhold

# one flag a line, for tools that read C as the compiler does
compile-flags: $(SKEL)
	@printf '%s\n' $(filter-out -MMD -MP -ffile-prefix-map=%,$(ALL_CFLAGS))

bpf-compile-flags:
	@printf '%s\n' $(BPF_CFLAGS)

$(BUILD)/tests/fuzz/parse.bpf.o: tests/fuzz/parse.bpf.c tests/fuzz/parse_answer.h bpf/parse.h bpf/compat.h include/synhold/abi.h
	@mkdir -p $(@D)
	$(call say,BPF )
	$(Q)$(CLANG) $(BPF_CFLAGS) -I. -c $< -o $@

$(BUILD)/tests/e2e/neighbour.bpf.o: tests/e2e/tools/neighbour.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF )
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(BUILD)/bench/bench.bpf.o: tests/bench/bench.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF )
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

# the shield itself, with sources that vary from run to run
vary = -D'BENCH_VARY_SOURCE(addr)=(*(__u32 *)((addr) + 12) ^= bpf_get_prandom_u32() & $(1))'
$(BUILD)/bench/synhold-4096.bpf.o: $(BUILD)/synhold.bpf.o
	@mkdir -p $(@D)
	$(call say,BPF )
	$(Q)$(CLANG) $(BPF_CFLAGS) $(call vary,0xfff0000) -c bpf/synhold.bpf.c -o $@
$(BUILD)/bench/synhold-random.bpf.o: $(BUILD)/synhold.bpf.o
	@mkdir -p $(@D)
	$(call say,BPF )
	$(Q)$(CLANG) $(BPF_CFLAGS) $(call vary,0xffffffff) -c bpf/synhold.bpf.c -o $@

$(BUILD)/bench/synhold-lru.bpf.o: tests/bench/lru.bpf.c $(BUILD)/synhold.bpf.o
	@mkdir -p $(@D)
	$(call say,BPF )
	$(Q)$(CLANG) $(BPF_CFLAGS) $(call vary,0xffffffff) -c $< -o $@

$(BUILD)/bench/synhold-lru-charges.bpf.o: tests/bench/lru.bpf.c $(BUILD)/synhold.bpf.o
	@mkdir -p $(@D)
	$(call say,BPF )
	$(Q)$(CLANG) $(BPF_CFLAGS) $(call vary,0xffffffff) -DLRU_CHARGES -c $< -o $@

BENCH_OBJ := $(patsubst %,$(BUILD)/tests/bench/%.o,bench cost steps live)
$(BUILD)/bench/bench: $(BENCH_OBJ) $(CORE)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) $^ $(LIBS) -o $@

$(BUILD)/bench/bulk: $(BUILD)/tests/bench/bulk.o
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) $^ $(LIBS) -o $@

$(BUILD)/tests/kernels/%: $(BUILD)/tests/kernels/tools/%.o
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

# built anew each time: it is a matter of a second, and what it copies comes from everywhere
kernel-binaries: e2e-binaries $(BUILD)/tests/e2e/neighbour.bpf.o $(OBJECTS) $(BUILD)/tests/kernels/verifier
	@mkdir -p $(BUILD)/kernels
	$(call say,CPIO)
	$(Q)tests/kernels/userland.sh $(BUILD) $(BUILD)/kernels/userland.cpio

bench-binaries: $(addprefix $(BUILD)/bench/,bench bulk bench.bpf.o synhold-4096.bpf.o synhold-random.bpf.o \
	synhold-lru.bpf.o synhold-lru-charges.bpf.o)

bench: all bench-binaries $(BUILD)/tests/e2e/volley
	@$(SUDO) env BUILD=$(BUILD) tests/bench/run.sh $(BENCHFLAGS)

# the same fleets as tests/unit/test_order_law.c, full size
$(BUILD)/bench/order: $(BUILD)/tests/bench/order.o $(UNIT_HELP) $(CORE)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) $^ $(LIBS) -o $@

bench-order: $(BUILD)/bench/order
	@$< $(BENCHFLAGS)

lint:
	@BUILD=$(BUILD) tests/lint.sh

# the units name the program where it was installed
install: all
	install -D -m 0755 $(BUILD)/synhold $(DESTDIR)$(SBINDIR)/synhold
	install -d $(DESTDIR)$(UNITDIR) $(DESTDIR)$(MANDIR)/man5 $(DESTDIR)$(MANDIR)/man8 $(DESTDIR)$(DOCDIR)
	for unit in $(UNITS); do \
		sed 's|/usr/local/sbin/synhold|$(SBINDIR)/synhold|' deploy/$$unit >$(DESTDIR)$(UNITDIR)/$$unit && \
		chmod 0644 $(DESTDIR)$(UNITDIR)/$$unit || exit 1; \
	done
	install -m 0644 $(wildcard deploy/man/*.5) $(DESTDIR)$(MANDIR)/man5
	install -m 0644 $(wildcard deploy/man/*.8) $(DESTDIR)$(MANDIR)/man8
	install -m 0644 README.md $(wildcard docs/*.md) deploy/synhold.conf $(DESTDIR)$(DOCDIR)
	install -D -m 0644 deploy/completion/synhold.bash $(DESTDIR)$(DATADIR)/bash-completion/completions/synhold
	install -D -m 0644 deploy/completion/_synhold $(DESTDIR)$(DATADIR)/zsh/vendor-completions/_synhold

uninstall:
	rm -f $(DESTDIR)$(SBINDIR)/synhold $(addprefix $(DESTDIR)$(UNITDIR)/,$(UNITS))
	rm -f $(addprefix $(DESTDIR)$(MANDIR)/man5/,$(notdir $(wildcard deploy/man/*.5)))
	rm -f $(addprefix $(DESTDIR)$(MANDIR)/man8/,$(notdir $(wildcard deploy/man/*.8)))
	rm -rf $(DESTDIR)$(DOCDIR)
	rm -f $(DESTDIR)$(DATADIR)/bash-completion/completions/synhold $(DESTDIR)$(DATADIR)/zsh/vendor-completions/_synhold

# what git keeps, at the time of its last commit: two runs give the same bytes
dist:
	@mkdir -p $(BUILD)
	git -c safe.directory='$(CURDIR)' archive --format=tar --prefix=synhold-$(VERSION)/ HEAD | gzip -n -9 >$(BUILD)/synhold-$(VERSION).tar.gz
	@sha256sum $(BUILD)/synhold-$(VERSION).tar.gz

deploy-binaries: e2e-binaries deb

deb: dist
	BUILD=$(BUILD) deploy/debian/build.sh

clean:
	rm -rf $(BUILD)
