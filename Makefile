# loom. `make` builds bin/ from the release variant; VARIANT=debug|release|sanitize builds under build/VARIANT.
# Non-recursive, dependencies by -MMD. `make help` lists the targets.

VARIANT ?= release
ifeq ($(origin CXX),default)
CXX := g++
endif
CLANGXX ?= clang++-14
CLANG_FORMAT ?= clang-format-14
CLANG_TIDY ?= clang-tidy-14
LAUNCHER := $(shell command -v ccache 2>/dev/null)
B := build/$(VARIANT)

# One job a processor unless the caller says otherwise (the command line wins); a make within shares its caller's jobs.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif

WARN := -Wall -Wextra -Wpedantic -Werror -Werror=switch
# g++ 12 sees overlap in std::string where there is none (its bug 105329), and unset members of variants that hold another
# alternative (its bug 105562), and both only when it optimises. clang's analyzer looks for the real ones.
WARN += $(if $(findstring clang,$(CXX)),,-Wno-restrict -Wno-maybe-uninitialized)
CXXFLAGS_common := -std=c++20 $(WARN) -Ilibloom -I. -DMSGPACK_NO_BOOST -D_FILE_OFFSET_BITS=64
CXXFLAGS_debug := -O0 -g1
CXXFLAGS_release := -O2 -g1 -fstack-protector-strong -D_FORTIFY_SOURCE=2 -ffunction-sections -fdata-sections
CXXFLAGS_sanitize := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined
CXXFLAGS_fuzz := -O1 -g1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
LDFLAGS_debug :=
LDFLAGS_release := -static -Wl,--gc-sections
LDFLAGS_sanitize := -fsanitize=address,undefined
LDFLAGS_fuzz := -fsanitize=address,undefined
# Tests are compiled for a short build, whatever the variant of what they test.
TEST_FLAGS_release := -O0 -g1
TEST_CXXFLAGS = $(CXXFLAGS_common) -MMD -MP $(or $(TEST_FLAGS_$(VARIANT)),$(CXXFLAGS_$(VARIANT))) $(EXTRA_CXXFLAGS)
CXXFLAGS = $(CXXFLAGS_common) -MMD -MP $(CXXFLAGS_$(VARIANT)) $(EXTRA_CXXFLAGS)
LDFLAGS = $(LDFLAGS_$(VARIANT))
TEST_LDFLAGS = $(filter-out -static,$(LDFLAGS))
LIBS := -lseccomp -lsodium -lpthread
# The network's libraries: libcurl.a does not link, so loom-egress is dynamic, and nothing else of ours links them. What can
# be static in it is: each library to load and bind costs a start.
NET_LIBS := -lcares -lcurl -lssl -lcrypto -lz
NET_LDFLAGS_release := -static-libstdc++ -static-libgcc -Wl,--gc-sections
NET_LIBS_release := -Wl,-Bstatic -lseccomp -lsodium -lcares -Wl,-Bdynamic -lcurl -lssl -lcrypto -lz

# stage 2 and the bridge are tiny static programs in every variant: no sanitizer, and no libc at all (its start-up would cost more than the rest).
STAGE2_CXXFLAGS := -std=c++20 $(WARN) -Ilibloom -I. -O2 -g1 -ffreestanding -fno-exceptions -fno-rtti -fno-stack-protector -fno-pie \
    -fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns -ffunction-sections -fdata-sections
STAGE2_LDFLAGS := -static -no-pie -nostdlib -Wl,--gc-sections -Wl,-z,noexecstack -Wl,--build-id=none

# The probes are static in every variant as well: they run where there is nothing but them.
PROBES_CXXFLAGS := -std=c++20 $(WARN) -Ilibloom -I. -O1 -fno-exceptions -fno-rtti -ffunction-sections -fdata-sections

LIB_SRC := $(sort $(wildcard libloom/*/*.cc))
HELPER_SRC := $(sort $(wildcard helper/*.cc helper/self_test/*.cc))
STAGE2_SRC := $(sort $(wildcard helper/stage2/*.cc))
BRIDGE_SRC := $(sort $(wildcard helper/bridge/*.cc)) helper/stage2/entry.cc
PROBE_SRC := $(sort $(wildcard helper/probes/*.cc))
CMD_SRC := $(sort $(wildcard cmd/*/*.cc))
TEST_SRC := $(sort $(wildcard test/*/*.cc test/*/*/*.cc))
TOOLS := $(patsubst cmd/%/main.cc,%,$(sort $(wildcard cmd/*/main.cc)))

obj = $(patsubst %.cc,$(B)/obj/%.o,$(1))
LIB_OBJ := $(call obj,$(LIB_SRC))
HELPER_OBJ := $(call obj,$(HELPER_SRC))
STAGE2_OBJ := $(patsubst %.cc,$(B)/obj2/%.o,$(STAGE2_SRC))
BRIDGE_OBJ := $(patsubst %.cc,$(B)/obj2/%.o,$(BRIDGE_SRC))
TOOL_BIN := $(addprefix $(B)/bin/,$(TOOLS))
ifneq ($(STAGE2_SRC),)
STAGE2_BIN := $(B)/bin/libexec/loom-stage2 $(B)/bin/libexec/loom-bridge
endif

ifneq ($(PROBE_SRC),)
PROBES_BIN := $(B)/bin/libexec/loom-probes
endif

.DEFAULT_GOAL := all
.PHONY: all tools unit property peers mutants adversary replays fuzzers test-parts help
.PHONY: demo test test-vm leak-census lint golden-accept check-syntax check-arm64 fuzz sanitize bench bench-layers install dist clean
.SECONDARY:

all: tools ## build the tools into bin/
	@mkdir -p bin && cp -a $(B)/bin/. bin/
tools: $(TOOL_BIN) $(STAGE2_BIN) $(PROBES_BIN)

$(B)/obj/test/%.o: test/%.cc
	@mkdir -p $(@D)
	$(LAUNCHER) $(CXX) $(TEST_CXXFLAGS) -c $< -o $@
$(B)/obj/%.o: %.cc
	@mkdir -p $(@D)
	$(LAUNCHER) $(CXX) $(CXXFLAGS) -c $< -o $@
$(B)/obj2/%.o: %.cc
	@mkdir -p $(@D)
	$(LAUNCHER) $(CXX) $(STAGE2_CXXFLAGS) -MMD -MP -c $< -o $@
$(B)/libloom.a: $(LIB_OBJ)
	@rm -f $@ && $(AR) rcs $@ $^
$(B)/libhelper.a: $(HELPER_OBJ)
	@rm -f $@ && $(AR) rcs $@ $^
$(B)/bin/libexec/loom-stage2: $(STAGE2_OBJ)
	@mkdir -p $(@D)
	$(CXX) $(STAGE2_LDFLAGS) $^ -o $@
$(B)/bin/libexec/loom-bridge: $(BRIDGE_OBJ)
	@mkdir -p $(@D)
	$(CXX) $(STAGE2_LDFLAGS) $^ -o $@

define tool_rule
$(B)/bin/$(1): $(call obj,$(sort $(wildcard cmd/$(1)/*.cc))) $(if $(filter loom-exec,$(1)),$(B)/libhelper.a) $(B)/libloom.a
	@mkdir -p $$(@D)
	$$(CXX) $(if $(filter loom-egress,$(1)),$$(or $$(NET_LDFLAGS_$$(VARIANT)),$$(LDFLAGS)) $$^ $$(or $$(NET_LIBS_$$(VARIANT)),$$(LIBS) $$(NET_LIBS)),$$(LDFLAGS) $$^ $$(LIBS)) -o $$@
endef
$(foreach t,$(TOOLS),$(eval $(call tool_rule,$(t))))

# Unit tests: one gtest binary a module (test/unit/MODULE/*.cc); properties: one rapidcheck binary a module.
UNIT_MODULES := $(patsubst test/unit/%/,%,$(sort $(dir $(wildcard test/unit/*/*.cc))))
PROPERTY_MODULES := $(patsubst test/property/%/,%,$(sort $(dir $(wildcard test/property/*/*.cc))))
SUPPORT_OBJ := $(call obj,$(sort $(wildcard test/support/*.cc)))
HELPER_LIB := $(if $(HELPER_SRC),$(B)/libhelper.a)
define unit_rule
$(B)/test/unit-$(1): $(call obj,$(sort $(wildcard test/unit/$(1)/*.cc))) $(SUPPORT_OBJ) $(HELPER_LIB) $(B)/libloom.a | $(STAGE2_BIN) $(if $(filter helper,$(1)),$(PROBES_BIN) $(B)/test/peers/use_bridge)
	@mkdir -p $$(@D)
	$$(CXX) $$(TEST_LDFLAGS) $$^ -lgtest -lgtest_main $$(LIBS) $(if $(filter egress,$(1)),$(NET_LIBS)) -o $$@
endef
define property_rule
$(B)/test/property-$(1): $(call obj,$(sort $(wildcard test/property/$(1)/*.cc))) $(SUPPORT_OBJ) $(HELPER_LIB) $(B)/libloom.a
	@mkdir -p $$(@D)
	$$(CXX) $$(TEST_LDFLAGS) $$^ -lrapidcheck -lgtest -lgtest_main $$(LIBS) -o $$@
endef
$(foreach m,$(UNIT_MODULES),$(eval $(call unit_rule,$(m))))
$(foreach m,$(PROPERTY_MODULES),$(eval $(call property_rule,$(m))))
unit: $(addprefix $(B)/test/unit-,$(UNIT_MODULES))
property: $(addprefix $(B)/test/property-,$(PROPERTY_MODULES))

# Peers for tests (scripted and hostile ones): each test/peers/NAME.cc is a program.
PEERS := $(patsubst test/peers/%.cc,$(B)/test/peers/%,$(sort $(wildcard test/peers/*.cc)))
$(B)/test/peers/%: $(B)/obj/test/peers/%.o $(SUPPORT_OBJ) $(B)/libloom.a
	@mkdir -p $(@D)
	$(CXX) $(LDFLAGS) $^ $(LIBS) $(PEER_LIBS) -o $@
$(B)/test/peers/tunnel_load: LDFLAGS = $(filter-out -static,$(LDFLAGS_$(VARIANT)))
$(B)/test/peers/tunnel_load: PEER_LIBS = -lssl -lcrypto
peers: $(PEERS)
# The misdeeds of test/adversary that are compiled: one static program, which runs where there is nothing but it.
ADVERSARY_OBJ := $(patsubst %.cc,$(B)/objp/%.o,$(sort $(wildcard test/adversary/*.cc)) helper/probes/deeds.cc)
$(B)/test/adversary: $(ADVERSARY_OBJ)
	@mkdir -p $(@D)
	$(CXX) -static -s -Wl,--gc-sections $^ -o $@
adversary: $(B)/test/adversary peers
# Probes: small programs, one misdeed each, in one static program that self-test runs inside jails.
PROBES_OBJ := $(patsubst %.cc,$(B)/objp/%.o,$(PROBE_SRC))
$(B)/objp/%.o: %.cc
	@mkdir -p $(@D)
	$(LAUNCHER) $(CXX) $(PROBES_CXXFLAGS) -MMD -MP -c $< -o $@
$(PROBES_BIN): $(PROBES_OBJ)
	@mkdir -p $(@D)
	$(CXX) -static -s -Wl,--gc-sections $^ -o $@

# Fuzz targets: test/fuzz/TARGET.cc with test/fuzz/corpus/TARGET. A fuzzer is clang's; a replay runs the corpus alone.
FUZZ_TARGETS := $(patsubst test/fuzz/%.cc,%,$(sort $(wildcard test/fuzz/*.cc)))
FUZZERS := $(addprefix $(B)/fuzz/,$(FUZZ_TARGETS))
$(B)/fuzz/%: $(B)/obj/test/fuzz/%.o $(SUPPORT_OBJ) $(B)/libloom.a
	@mkdir -p $(@D)
	$(CXX) -fsanitize=fuzzer $(LDFLAGS) $^ $(LIBS) -o $@
fuzzers: $(FUZZERS)
REPLAYS := $(addprefix $(B)/test/replay-,$(FUZZ_TARGETS))
$(B)/test/replay-%: $(B)/obj/test/fuzz/%.o $(B)/obj/test/support/replay/main.o $(SUPPORT_OBJ) $(B)/libloom.a
	@mkdir -p $(@D)
	$(CXX) $(TEST_LDFLAGS) $^ $(LIBS) -o $@
replays: $(REPLAYS)

# Mutants: the broker's properties over a core with one named fault (test/mutations/NAME.sed edits the file that its first
# line names); test/cli/mutations.bats holds that each is found.
MUTANTS := $(patsubst test/mutations/%.sed,$(B)/test/mutant-%,$(sort $(wildcard test/mutations/*.sed)))
$(B)/mutants/%.cc: test/mutations/%.sed $(LIB_SRC)
	@mkdir -p $(@D)
	@file=$$(sed -n 's/^# file: //p' $<) && sed -E -f $< "$$file" >$@.new && ! cmp -s "$$file" $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(B)/mutants/%.o: $(B)/mutants/%.cc
	$(LAUNCHER) $(CXX) $(TEST_CXXFLAGS) -c $< -o $@
$(B)/test/mutant-%: $(B)/mutants/%.o $(call obj,$(sort $(wildcard test/property/broker/*.cc))) $(SUPPORT_OBJ) $(HELPER_LIB) $(B)/libloom.a
	@mkdir -p $(@D)
	$(CXX) $(TEST_LDFLAGS) $^ -lrapidcheck -lgtest -lgtest_main $(LIBS) -o $@
mutants: $(MUTANTS)

test-parts: tools unit property peers adversary replays mutants

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 16

demo: ## set the machine up, build, and show a command in its jail
	@scripts/deps build demo
	@$(MAKE) -s all
	@scripts/demo

test: ## set the machine up, build, and run everything for root and for an ordinary user
	@scripts/deps build test
	@scripts/deps vm || true # without it that suite is skipped, with the reason
	@$(MAKE) -s all test-parts
	@VARIANT=$(VARIANT) scripts/run-tests $(SUITES)

test-vm: ## the suites that want another kernel, in a virtual machine
	@scripts/deps build test vm
	@$(MAKE) -s all $(B)/test/unit-helper
	@VARIANT=$(VARIANT) scripts/test-vm

leak-census: ## a thousand mixed executions, and a census of the machine before and after
	@scripts/deps build test
	@$(MAKE) -s all peers
	@BIN=$(CURDIR)/$(B)/bin BUILT=$(CURDIR)/$(B) LEAKS_ALONE=1 test/leaks/run $(or $(COUNT),1000)

sanitize: ## the tests again, built with the address and undefined-behaviour sanitizers
	@scripts/deps build test
	@$(MAKE) -s VARIANT=sanitize test-parts
	@VARIANT=sanitize scripts/run-tests $(SUITES)

golden-accept: ## rewrite the golden files from what is built; read the diff
	@$(MAKE) -s $(B)/test/unit-plan
	@LOOM_GOLDEN_ACCEPT=1 $(B)/test/unit-plan --gtest_brief=1 --gtest_filter='*PlanFixture*'; git diff --stat policy-fixtures

fuzz: ## each fuzz target for SECONDS=60
	@scripts/deps build fuzz
	@$(MAKE) -s VARIANT=fuzz CXX=$(CLANGXX) fuzzers
	@scripts/fuzz $(or $(SECONDS),60) $(FUZZ_TARGETS)

soak: ## random load with faults through two brokers for MINUTES=5; a table at the end
	@scripts/deps build test
	@$(MAKE) -s all $(B)/test/peers/soak $(B)/test/peers/acting_helper
	@BIN=$(B)/bin BUILT=$(B) $(B)/test/peers/soak $(or $(MINUTES),5) $(SEED)

# What each layer costs: the figures of loom-enforcement(7).
$(B)/test/bench/layers: $(B)/obj/test/bench/layers.o $(B)/libloom.a
	@mkdir -p $(@D)
	$(CXX) $(LDFLAGS) $^ $(LIBS) -o $@
bench-layers: ## what each layer of a jail costs, as shares of a posix_spawn
	@$(MAKE) -s $(B)/test/bench/layers
	@$(B)/test/bench/layers

bench: ## measure against bubblewrap, curl and a plain relay; writes build/bench.json
	@scripts/deps build bench
	@$(MAKE) -s all $(B)/test/peers/plain_relay $(B)/test/peers/tunnel_load
	@python3 test/bench/launch.py bin build/bench.json
	@python3 test/bench/request.py bin build/bench.json
	@python3 test/bench/proxy.py bin $(B)/test/peers build/bench.json

# Every file through the compiler's front end: `make CXX=clang++-14 check-syntax`.
SYNTAX := build/syntax/$(notdir $(CXX))
# A compiler for another machine finds the headers of libcurl and OpenSSL in this one's folder, after all of its own.
OTHER_HEADERS = $(if $(findstring aarch64,$(CXX)),-idirafter /usr/include/$(shell gcc -print-multiarch))
check-syntax: $(patsubst %.cc,$(SYNTAX)/%.ok,$(LIB_SRC) $(HELPER_SRC) $(STAGE2_SRC) $(wildcard helper/bridge/*.cc) $(CMD_SRC) $(PROBE_SRC) $(TEST_SRC)) ## compile every file, no output
$(SYNTAX)/%.ok: %.cc
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS_common) $(OTHER_HEADERS) -MMD -MP -MF $(@:.ok=.d) -MT $@ -fsyntax-only $<
	@touch $@

# The other machine that has a jail: every file through its compiler, and stage 2 to a program.
ARM64_CXX := aarch64-linux-gnu-g++-12
check-arm64: ## compile for arm64, no output but stage 2
	@scripts/deps build arm64
	@$(MAKE) -s CXX=$(ARM64_CXX) check-syntax
	@$(MAKE) -s CXX=$(ARM64_CXX) LAUNCHER= VARIANT=arm64 build/arm64/bin/libexec/loom-stage2

# lint: each part is a target of its own, so that one can be run alone; clang-tidy leaves a stamp a file.
LINTED := $(LIB_SRC) $(HELPER_SRC) $(STAGE2_SRC) $(wildcard helper/bridge/*.cc) $(CMD_SRC) $(PROBE_SRC) $(TEST_SRC)
HEADERS := $(sort $(wildcard libloom/*/*.h helper/*.h helper/*/*.h cmd/*/*.h test/*/*.h test/*/*/*.h))
SCRIPTS := $(sort $(filter-out scripts/demo-workspace,$(wildcard scripts/* .ci/run test/cli/*.bash test/adversary/*.sh)))
BATS := $(sort $(wildcard test/cli/*.bats))
PAGES := $(sort $(wildcard man/*.[1-8]))
.PHONY: lint-deps lint-format lint-tidy lint-layers lint-shell lint-man lint-flags
lint: lint-deps ## format, clang-tidy, layers, shell, man pages and their flags
	@$(MAKE) -s --output-sync=target --keep-going lint-format lint-tidy lint-layers lint-shell lint-man lint-flags
lint-deps:
	@scripts/deps build lint
lint-format:
	$(CLANG_FORMAT) --dry-run -Werror $(LINTED) $(HEADERS)
# The analyzer looks within each function; DEEP=1 lets it follow calls (three times the time).
TIDY_FLAGS := -Wno-unknown-warning-option $(if $(DEEP),,-Xclang -analyzer-config -Xclang mode=shallow)
lint-tidy: $(patsubst %.cc,build/lint/tidy/%.ok,$(LINTED))
build/lint/tidy/%.ok: %.cc .clang-tidy
	@mkdir -p $(@D)
	@$(CLANGXX) $(CXXFLAGS_common) -Wno-unknown-warning-option -MM -MP -MF $(@:.ok=.d) -MT $@ $<
	@out=$$($(CLANG_TIDY) --quiet $< -- $(CXXFLAGS_common) $(TIDY_FLAGS) 2>&1) || { echo "$$out"; exit 1; }
	@touch $@
lint-layers:
	scripts/check-layers
lint-shell:
	shellcheck $(SCRIPTS)
	shellcheck --shell=bats --exclude=SC2016,SC2030,SC2031,SC2034,SC2154 $(BATS)
lint-man:
	mandoc -T lint -W warning $(PAGES)
lint-flags: all
	scripts/check-flags bin man

PREFIX ?= /usr/local
DEST = $(DESTDIR)$(PREFIX)
install: all ## tools, man pages and completions under DESTDIR and PREFIX
	install -d $(DEST)/bin $(DEST)/libexec/loom $(DEST)/share/man
	install -s -m 755 $(addprefix bin/,$(TOOLS)) $(DEST)/bin
	install -m 755 $(addprefix bin/libexec/,$(notdir $(STAGE2_BIN) $(PROBES_BIN))) $(DEST)/libexec/loom
	for page in $(PAGES); do install -D -m 644 $$page $(DEST)/share/man/man$${page##*.}/$${page#man/}; done
	scripts/completions bin $(DEST)/share

VERSION = $(shell sed -n 's/.*kVersion = "\(.*\)".*/\1/p' libloom/base/version.h)
dist: ## a source archive of what is committed
	@mkdir -p build
	git archive --prefix=loom-$(VERSION)/ -o build/loom-$(VERSION).tar.gz HEAD
	@echo build/loom-$(VERSION).tar.gz

clean: ## remove build/ and bin/
	rm -rf build bin

-include $(shell find build -name '*.d' -type f 2>/dev/null)
