# loom. `make` builds bin/ from the release variant; VARIANT=debug|release|sanitize builds under build/VARIANT.
# Non-recursive, dependencies by -MMD. `make help` lists the targets.

VARIANT ?= release
CXX ?= g++
ifeq ($(origin CXX),default)
CXX := g++
endif
CLANGXX ?= clang++-14
LAUNCHER := $(shell command -v ccache 2>/dev/null)
B := build/$(VARIANT)

WARN := -Wall -Wextra -Wpedantic -Werror -Werror=switch
CXXFLAGS_common := -std=c++20 $(WARN) -Ilibloom -I. -DMSGPACK_NO_BOOST -D_FILE_OFFSET_BITS=64 -MMD -MP
CXXFLAGS_debug := -O0 -g1
CXXFLAGS_release := -O2 -g1 -fstack-protector-strong -D_FORTIFY_SOURCE=2
CXXFLAGS_sanitize := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined
LDFLAGS_debug :=
LDFLAGS_release := -static -Wl,--gc-sections
LDFLAGS_sanitize := -fsanitize=address,undefined
CXXFLAGS = $(CXXFLAGS_common) $(CXXFLAGS_$(VARIANT)) $(EXTRA_CXXFLAGS)
LDFLAGS = $(LDFLAGS_$(VARIANT))
LIBS := -lseccomp -lsodium -lpthread

# stage 2 is a tiny static program in every variant: no sanitizer, no libstdc++ start-up.
STAGE2_CXXFLAGS := -std=c++20 $(WARN) -Ilibloom -I. -Os -g1 -fno-exceptions -fno-rtti -ffunction-sections -fdata-sections -MMD -MP
STAGE2_LDFLAGS := -static -Wl,--gc-sections

LIB_SRC := $(sort $(wildcard libloom/*/*.cc))
HELPER_SRC := $(sort $(wildcard helper/*.cc))
STAGE2_SRC := $(sort $(wildcard helper/stage2/*.cc))
TOOLS := $(patsubst cmd/%/main.cc,%,$(sort $(wildcard cmd/*/main.cc)))

obj = $(patsubst %.cc,$(B)/obj/%.o,$(1))
LIB_OBJ := $(call obj,$(LIB_SRC))
HELPER_OBJ := $(call obj,$(HELPER_SRC))
STAGE2_OBJ := $(patsubst %.cc,$(B)/obj2/%.o,$(STAGE2_SRC))
TOOL_BIN := $(addprefix $(B)/bin/,$(TOOLS))
ifneq ($(STAGE2_SRC),)
STAGE2_BIN := $(B)/bin/libexec/loom-stage2
endif

.DEFAULT_GOAL := all
.PHONY: all tools unit property test clean check-syntax help
.SECONDARY:

all: tools
	@mkdir -p bin && cp -a $(B)/bin/. bin/
tools: $(TOOL_BIN) $(STAGE2_BIN)

$(B)/obj/%.o: %.cc
	@mkdir -p $(@D)
	$(LAUNCHER) $(CXX) $(CXXFLAGS) -c $< -o $@
$(B)/obj2/%.o: %.cc
	@mkdir -p $(@D)
	$(LAUNCHER) $(CXX) $(STAGE2_CXXFLAGS) -c $< -o $@
$(B)/libloom.a: $(LIB_OBJ)
	@rm -f $@ && $(AR) rcs $@ $^
$(B)/libhelper.a: $(HELPER_OBJ)
	@rm -f $@ && $(AR) rcs $@ $^
$(STAGE2_BIN): $(STAGE2_OBJ)
	@mkdir -p $(@D)
	$(CXX) $(STAGE2_LDFLAGS) $^ -o $@

define tool_rule
$(B)/bin/$(1): $(call obj,$(sort $(wildcard cmd/$(1)/*.cc))) $(if $(filter loom-exec,$(1)),$(B)/libhelper.a) $(B)/libloom.a
	@mkdir -p $$(@D)
	$(CXX) $(LDFLAGS) $$^ $(LIBS) -o $$@
endef
$(foreach t,$(TOOLS),$(eval $(call tool_rule,$(t))))

# Unit tests: one gtest binary a module (test/unit/MODULE/*.cc); properties: one rapidcheck binary a module.
UNIT_MODULES := $(patsubst test/unit/%/,%,$(sort $(dir $(wildcard test/unit/*/*.cc))))
PROPERTY_MODULES := $(patsubst test/property/%/,%,$(sort $(dir $(wildcard test/property/*/*.cc))))
SUPPORT_OBJ := $(call obj,$(sort $(wildcard test/support/*.cc)))
define unit_rule
$(B)/test/unit-$(1): $(call obj,$(sort $(wildcard test/unit/$(1)/*.cc))) $(SUPPORT_OBJ) $(if $(HELPER_SRC),$(B)/libhelper.a) $(B)/libloom.a
	@mkdir -p $$(@D)
	$(CXX) $(filter-out -static,$(LDFLAGS)) $$^ -lgtest -lgtest_main $(LIBS) -o $$@
endef
define property_rule
$(B)/test/property-$(1): $(call obj,$(sort $(wildcard test/property/$(1)/*.cc))) $(SUPPORT_OBJ) $(B)/libloom.a
	@mkdir -p $$(@D)
	$(CXX) $(filter-out -static,$(LDFLAGS)) $$^ -lrapidcheck -lgtest -lgtest_main $(LIBS) -o $$@
endef
$(foreach m,$(UNIT_MODULES),$(eval $(call unit_rule,$(m))))
$(foreach m,$(PROPERTY_MODULES),$(eval $(call property_rule,$(m))))
unit: $(addprefix $(B)/test/unit-,$(UNIT_MODULES))
property: $(addprefix $(B)/test/property-,$(PROPERTY_MODULES))

# Peers for tests (scripted and hostile ones): each test/peers/NAME.cc is a program.
PEERS := $(patsubst test/peers/%.cc,$(B)/test/peers/%,$(sort $(wildcard test/peers/*.cc)))
$(B)/test/peers/%: $(B)/obj/test/peers/%.o $(SUPPORT_OBJ) $(B)/libloom.a
	@mkdir -p $(@D)
	$(CXX) $(LDFLAGS) $^ $(LIBS) -o $@
peers: $(PEERS)
# Probes: small programs, one misdeed each, run inside jails.
PROBES := $(patsubst helper/probes/%.cc,$(B)/probes/%,$(sort $(wildcard helper/probes/*.cc)))
$(B)/probes/%: helper/probes/%.cc
	@mkdir -p $(@D)
	$(LAUNCHER) $(CXX) -std=c++20 $(WARN) -O1 -static $< -o $@
probes: $(PROBES)

check-syntax: $(patsubst %.cc,build/syntax/%.ok,$(LIB_SRC) $(HELPER_SRC) $(STAGE2_SRC) $(wildcard cmd/*/*.cc test/*/*.cc test/*/*/*.cc helper/probes/*.cc))
build/syntax/%.ok: %.cc
	@mkdir -p $(@D)
	$(CXX) $(filter-out -MMD -MP,$(CXXFLAGS_common)) -fsyntax-only $< && touch $@

clean:
	rm -rf build bin

-include $(shell find build -name '*.d' 2>/dev/null)
