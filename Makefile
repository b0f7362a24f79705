# gover: one file, not recursive. `make help` lists the targets.
# Users may set CC, CLANG (for BPF programs), PKG_CONFIG, AR, CFLAGS, LDFLAGS, PREFIX, DESTDIR and B (build folder). Lower-case
# variables hold the flags that gover always needs. V=1 prints each command that compiles or links. Nothing that is compiled runs
# during the build, so CC and PKG_CONFIG of another architecture are enough for a cross-build (see tests/check-arm64).

CC     ?= gcc
CLANG  ?= clang
PKG_CONFIG ?= pkg-config
AR     := $(if $(filter default,$(origin AR)),$(shell $(CC) -print-prog-name=ar),$(AR))
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
B      ?= build
Q      := $(if $(V),,@)

version  := $(shell cat VERSION)
packages := libmicrohttpd jansson libsystemd sqlite3 smartcols libcurl gnutls zlib
warnings := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
            -Wswitch-enum -Wpointer-arith -Wcast-qual -Wundef $(if $(WERROR),-Werror)
# What $(CC) compiles for, in Debian's form: x86_64-linux-gnu.
target   := $(subst -pc-,-,$(subst -unknown-,-,$(or $(shell $(CC) -print-multiarch 2>/dev/null),$(shell $(CC) -dumpmachine))))
machine  := $(firstword $(subst -, ,$(target)))
# Hardening as in Debian packages. FORTIFY needs optimisation; a sanitizer needs the unchanged functions. CET exists on x86, BTI
# and signed return addresses on arm64.
fortify  := $(if $(SANITIZE)$(findstring _FORTIFY_SOURCE,$(CFLAGS)),,$(if $(filter -O1 -O2 -O3 -Os,$(CFLAGS)), \
              -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3))
branches := $(if $(filter x86_64 i%86,$(machine)),-fcf-protection,$(if $(filter aarch64,$(machine)),-mbranch-protection=standard))
# clang 14 does not have it for arm64.
clash    := $(shell echo | $(CC) -Werror -fstack-clash-protection -xc -c -o /dev/null - 2>/dev/null && echo -fstack-clash-protection)
hardened := -fstack-protector-strong $(clash) $(branches) $(fortify)
cflags   := -std=c11 -D_GNU_SOURCE -DGOVER_VERSION='"$(version)"' -I. -fPIC $(hardened) $(warnings) $(SANITIZE)
cflags   += $(shell $(PKG_CONFIG) --cflags $(packages) 2>/dev/null)
relro    := -Wl,-z,relro,-z,now
ldflags  := $(SANITIZE) $(relro)
libs      = $(shell $(PKG_CONFIG) --libs $(packages)) -lm -pthread
# fps_source = bpf needs libbpf, libelf and a clang that can compile BPF programs. `make BPF=` builds without it.
BPF      := $(shell $(PKG_CONFIG) --exists 'libbpf >= 1.0' libelf 2>/dev/null && \
              echo 'int x;' | $(CLANG) -target bpf -xc -c -o /dev/null - 2>/dev/null && echo yes)
libs     += $(if $(BPF),$(shell $(PKG_CONFIG) --libs libbpf libelf))
fuse      = $(shell $(PKG_CONFIG) --libs fuse3) # for gover-sim
tables    = $(shell $(PKG_CONFIG) --libs jansson smartcols) # for gover-ctl and gover-sim
ctl_libs  = $(shell $(PKG_CONFIG) --libs libarchive ncursesw) # for gover-ctl
xml       = $(shell $(PKG_CONFIG) --libs expat) # for gover-fleet

# Programs and tests link one archive: every source except main() and the preload library.
folders  := base client policy policy/qos policy/baseline policy/promise sched compute/arbiter db sim/model sim/double/device sim/compute sim/experiment sim/host gpu gpu/xe \
            monitor monitor/fps monitor/bpf monitor/truth compute/channel compute/tenant \
            compute/server gover-d $(addprefix gover-d/,util model config diagnosis alert store core api auth http) \
            gover-ctl $(addprefix gover-ctl/,verb top doctor simulate support fleet) \
            gover-fleet $(addprefix gover-fleet/,model config cloud host claim migrate)
mains    := compute/server/main.c gover-d/main.c gover-ctl/verb/main.c gover-fleet/main.c sim/host/main.c
# Defines recv(): linked by name, because an archive would add it to every program that calls recv().
receive  := gover-d/http/receive.c
# The OpenCL programs need the loader and its headers (ocl-icd-opencl-dev, opencl-headers).
opencl   := $(shell $(PKG_CONFIG) --exists OpenCL OpenCL-Headers 2>/dev/null && echo yes)
# gover-fleet needs libvirt (libvirt-dev). Its other parts are built and tested without it.
libvirt  := $(shell $(PKG_CONFIG) --exists libvirt 2>/dev/null && echo yes)
# ThreadSanitizer allocates memory before a program can replace malloc().
no_units := $(if $(libvirt),,%/test-fleet-mover.c %/test-fleet-mover-restart.c) $(if $(BPF),,%/test-fps-bpf-symbols.c) $(if $(opencl),,%/test-compute-cl.c %/test-compute-cl-slice.c) \
            $(if $(findstring thread,$(SANITIZE)),$(shell grep -rl scarce-malloc.h tests/unit --include='test-*.c'))
unit_sources := $(filter-out $(no_units),$(shell find tests/unit -name 'test-*.c'))
no_virt  := $(if $(libvirt),,gover-fleet/claim/domains.c gover-fleet/migrate/libvirt-move.c)
no_bpf   := $(if $(BPF),monitor/bpf/none.c,$(addprefix monitor/bpf/,bpf.c files.c symbols.c))
sources  := $(filter-out $(mains) $(receive) $(no_bpf) $(no_virt) %.bpf.c,$(wildcard $(addsuffix /*.c,$(folders)))) \
            fps-preload/debug.c fps-preload/owned-fd.c fps-preload/sealed-memfd.c \
            compute/cl/slice-plan.c compute/cl/slice-text.c # the pure part of compute/cl
objects  := $(sources:%.c=$B/obj/%.o) $B/obj/gover-d/web/embed.o $B/obj/gover-d/openapi/embed.o \
            $B/obj/gover-ctl/verb/embed.o $(if $(BPF),$B/obj/monitor/bpf/embed.o)
layer    := $(shell $(PKG_CONFIG) --exists vulkan && echo $B/libgover-fps-layer.so)
# The device double of the tests is no program of gover and is not installed.
double   := $(if $(opencl),$B/libgover-double.so)
kernels  := $(if $(opencl),$B/gover-kernels)
cl_layer := $(if $(opencl),$B/libgover-cl.so)
fleet    := $(if $(libvirt),$B/gover-fleet)
programs := $B/gover-d $B/gover-arbiter $B/gover-ctl $B/gover-sim $(fleet) $B/libgover-fps.so $(layer) $(cl_layer) $(double) $B/gover-terrain $(kernels)
units    := $(patsubst %.c,$B/tests/%,$(notdir $(unit_sources)))
helpers  := $(patsubst tests/helper/%.c,$B/tests/%,$(wildcard tests/helper/*.c))
evals    := $(patsubst bench/eval/%.c,$B/eval/%,$(filter-out %/mixes-print.c %/pool.c,$(wildcard bench/eval/*.c)))
helpers  := $(if $(layer),$(helpers),$(filter-out %/fps-vk,$(helpers))) $B/tests/fault-inject.so $B/tests/fake-nvml.so
helpers  := $(if $(double),$(helpers),$(filter-out %/cl-api %/cl-tenant,$(helpers)))
helpers  := $(if $(opencl),$(helpers) $B/tests/cl-conformance,$(filter-out %/cl-layer,$(helpers)))
helpers  := $(if $(cl_layer),$(helpers),$(filter-out %/cl-calls %/cl-slice,$(helpers)))
# What tests/compute/ runs besides the programs.
compute_parts := $(if $(cl_layer),$(addprefix $B/,tests/cl-tenant tests/cl-scribble tests/compute-ctl tests/double-truth bench/bench-cl-layer))
benches  := $(patsubst bench/%.c,$B/bench/%,$(wildcard bench/bench-*.c))
benches  := $(if $(cl_layer),$(benches),$(filter-out %/bench-cl-layer,$(benches)))

# The libraries for 32-bit programs, if the compiler can build them.
m32      := $(if $(filter x86_64,$(machine)),$(shell echo 'int main(void) { return 0; }' | $(CC) -m32 -xc -o /dev/null - 2>/dev/null && echo yes))
libs32   := $(if $(m32),$B/32/libgover-fps.so $(layer:$B/%=$B/32/%))

all: $(programs) $(libs32)  ## build everything (default)
	$(if $(m32),,@echo "  SKIP  32-bit libraries: $(if $(filter x86_64,$(machine)),$(CC) -m32 links nothing here (gcc-multilib),$(machine) has none)")
	$(if $(cl_layer),,@echo "  SKIP  libgover-cl.so: no OpenCL headers (ocl-icd-opencl-dev)")
	$(if $(layer),,@echo "  SKIP  libgover-fps-layer.so: no Vulkan headers (libvulkan-dev)")
	$(if $(fleet),,@echo "  SKIP  gover-fleet: no libvirt headers (libvirt-dev)")
	$(if $(double),,@echo "  SKIP  libgover-double.so: no OpenCL headers (ocl-icd-opencl-dev)")
	$(if $(opencl),,@echo "  SKIP  gover-kernels: no OpenCL headers (ocl-icd-opencl-dev)")

$B/libgover.a: $(objects)
	@rm -f $@
	$(Q)$(AR) qcs $@ $^

$B/gover-d: $B/obj/gover-d/main.o $(receive:%.c=$B/obj/%.o) $B/libgover.a
$B/gover-ctl: $B/obj/gover-ctl/verb/main.o $B/libgover.a
$B/gover-ctl: libs += $(ctl_libs)
$B/gover-d $B/gover-ctl:
	@echo "  LD    $@"
	$(Q)$(CC) -pie $(ldflags) $(LDFLAGS) -o $@ $^ $(libs)

$B/gover-fleet: $B/obj/gover-fleet/main.o $B/libgover.a
	@echo "  LD    $@"
	$(Q)$(CC) -pie $(ldflags) $(LDFLAGS) -o $@ $^ $(shell $(PKG_CONFIG) --libs libcurl jansson libsystemd libvirt) $(xml) -pthread

$B/gover-arbiter: $B/obj/compute/server/main.o $B/libgover.a
	@echo "  LD    $@"
	$(Q)$(CC) -pie $(ldflags) $(LDFLAGS) -o $@ $^ -pthread

$B/gover-sim: $B/obj/sim/host/main.o $B/libgover.a
	@echo "  LD    $@"
	$(Q)$(CC) -pie $(ldflags) $(LDFLAGS) -o $@ $^ $(fuse) $(tables) -lm -pthread

$B/libgover-fps.so: $(patsubst %.c,$B/obj/%.o,$(wildcard fps-preload/*.c)) fps-preload/exports.map
	@echo "  LD    $@"
	$(Q)$(CC) $(ldflags) $(LDFLAGS) -shared -Wl,--version-script=fps-preload/exports.map \
		-o $@ $(filter %.o,$^) -ldl -lm -pthread

# The Vulkan layer shares these objects with the preload library, but wraps no GL symbols.
counting := channel connection debug frame limit owned-fd pace report sealed-memfd setup shared-page
$B/libgover-fps-layer.so: $(patsubst %.c,$B/obj/%.o,$(wildcard fps-preload/layer/*.c)) \
		$(counting:%=$B/obj/fps-preload/%.o) fps-preload/layer/exports.map
	@echo "  LD    $@"
	$(Q)$(CC) $(ldflags) $(LDFLAGS) -shared -Wl,--version-script=fps-preload/layer/exports.map -Wl,-z,nodelete \
		-o $@ $(filter %.o,$^) -ldl -pthread

# The library contains the pure part, which libgover.a has for the unit tests, and a parser of base/.
$B/libgover-double.so: $(patsubst %.c,$B/obj/%.o,$(wildcard sim/double/*.c sim/double/device/*.c) base/parse.c) sim/double/exports.map
	@echo "  LD    $@"
	$(Q)$(CC) $(ldflags) $(LDFLAGS) -shared -Wl,--version-script=sim/double/exports.map -Wl,-z,nodelete \
		-o $@ $(filter %.o,$^) -pthread

cl_parts := $(wildcard compute/cl/*.c compute/tenant/*.c) $(addprefix fps-preload/,debug.c owned-fd.c sealed-memfd.c) \
            $(addprefix compute/channel/,memfd.c message.c text.c transfer.c)
$B/libgover-cl.so: $(cl_parts:%.c=$B/obj/%.o) compute/cl/exports.map
	@echo "  LD    $@"
	$(Q)$(CC) $(ldflags) $(LDFLAGS) -shared -Wl,--version-script=compute/cl/exports.map -Wl,-z,nodelete \
		-o $@ $(filter %.o,$^) -pthread

$B/32/libgover-fps.so: $(patsubst %.c,$B/obj32/%.o,$(wildcard fps-preload/*.c)) fps-preload/exports.map
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) -m32 $(relro) $(LDFLAGS) -shared -Wl,--version-script=fps-preload/exports.map \
		-o $@ $(filter %.o,$^) -ldl -lm -pthread

$B/32/libgover-fps-layer.so: $(patsubst %.c,$B/obj32/%.o,$(wildcard fps-preload/layer/*.c)) \
		$(counting:%=$B/obj32/fps-preload/%.o) fps-preload/layer/exports.map
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) -m32 $(relro) $(LDFLAGS) -shared -Wl,--version-script=fps-preload/layer/exports.map -Wl,-z,nodelete \
		-o $@ $(filter %.o,$^) -ldl -pthread

# The 32-bit libraries are built without sanitizers, because the 32-bit programs in the tests have none. Without
# _FILE_OFFSET_BITS, stat() fails for inode numbers above 32 bits.
$B/obj32/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC32  $<"
	$(Q)$(CC) -m32 -D_FILE_OFFSET_BITS=64 $(filter-out $(SANITIZE),$(cflags)) $(CFLAGS) -MMD -MP -c -o $@ $<

$B/gover-terrain: $B/obj/demo/terrain.o
	@echo "  LD    $@"
	$(Q)$(CC) -pie $(ldflags) $(LDFLAGS) -o $@ $^ -lGL -lX11 -lm

$B/gover-kernels: $(patsubst %.c,$B/obj/%.o,$(wildcard demo/kernels/*.c)) $B/obj/demo/kernels/embed.o $B/obj/base/clock.o $B/obj/base/parse.o
	@echo "  LD    $@"
	$(Q)$(CC) -pie $(ldflags) $(LDFLAGS) -o $@ $^ -lOpenCL -lm

$B/obj/demo/kernels/embed.o: demo/kernels/embed.S $(wildcard demo/kernels/cl/*.cl)
	@mkdir -p $(@D)
	@echo "  AS    $<"
	$(Q)$(CC) -Wa,-Idemo/kernels/cl -c -o $@ $<

# Files that contain the version are compiled again when it changes.
$(patsubst %.c,$B/obj/%.o,$(shell grep -l GOVER_VERSION $(sources) $(mains) $(wildcard sim/double/*.c))): VERSION

$B/obj/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(cflags) $(CFLAGS) -MMD -MP -c -o $@ $<

$(units): libs += $(ctl_libs) $(xml)
# tests/unit/ mirrors the source folders; the programs are built into one folder. cmocka 2 deprecates macros whose successors
# cmocka 1 does not have. With -flto, gcc warns about outputs that a failed call leaves unset, because it does not know that an
# assertion of cmocka ends the test.
inlined  := $(if $(findstring -flto,$(CFLAGS)),-Wno-maybe-uninitialized -Wno-stringop-overflow)
vpath test-%.c $(sort $(dir $(unit_sources)))
$B/tests/test-%: test-%.c $B/libgover.a
	@mkdir -p $(@D)
	@echo "  TEST  $<"
	$(Q)$(CC) $(cflags) $(inlined) $(CFLAGS) -UNDEBUG -DCMOCKA_DISABLE_DEPRECATION_WARNINGS -MMD -MP $(ldflags) $(LDFLAGS) -o $@ $< $(filter %.o,$^) $B/libgover.a \
		-lcmocka $(libs)
$(patsubst %.c,$B/tests/%,$(notdir $(shell grep -lE '/test-api-http.h"|"gover-d/http/http.h"' $(unit_sources)))): $(receive:%.c=$B/obj/%.o)

# The i915 policy is tested with the headers in tests/i915 and without the warnings that i915 disables.
$B/tests/test-sched-policy $B/tests/test-sched-policy-accounting: cflags += -Itests/i915 -Wno-unused-parameter -Wno-sign-compare

# libvirt is linked only where it is needed.
$B/tests/test-fleet-mover $B/tests/test-fleet-mover-restart: libs += $(shell $(PKG_CONFIG) --libs libvirt)

# They load this library at run time.
$B/tests/test-truth-nvml: | $B/tests/fake-nvml.so
# It loads the layer at run time.
$B/tests/test-compute-cl $B/tests/test-compute-cl-slice: | $(cl_layer)
# A line "Link:" in a helper lists sources and flags. The sources are linked as objects, which know their headers.
linked := $(shell awk '/^ \* Link: / { for (i = 3; i <= NF; i++) if ($$i ~ /\.c$$/) print FILENAME ":" $$i }' tests/helper/*.c)
$(foreach pair,$(linked:%.c=%.o),$(eval $(subst tests/helper/,$B/tests/,$(subst .c:,: $B/obj/,$(pair)))))
$B/tests/fps-ways: $B/tests/fake-gl
$B/tests/fps-ways: ldflags += -Wl,--no-as-needed $B/tests/fake-gl
# Without a sanitizer, because it replaces functions that a sanitizer calls before it is initialised.
$B/tests/clock-shift: cflags := $(filter-out $(SANITIZE),$(cflags))
$B/tests/clock-shift: ldflags := $(filter-out $(SANITIZE),$(ldflags))
$B/tests/%: tests/helper/%.c
	@mkdir -p $(@D)
	@echo "  HELP  $<"
	$(Q)$(CC) $(cflags) $(CFLAGS) -MMD -MP $(ldflags) $(LDFLAGS) -o $@ $< $(filter %.o,$^) \
		$(filter-out %.c,$(shell sed -n 's/^ \* Link: //p' $<))

# The conformance test of OpenCL layers is one program of several files.
conformance := $(wildcard tests/helper/cl-conformance/*.c)
$B/tests/cl-conformance: $(conformance:%.c=$B/obj/%.o) $B/obj/demo/kernels/device.o $B/obj/base/parse.o
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) -pie $(ldflags) $(LDFLAGS) -o $@ $^ -lOpenCL -lm -pthread

# The tests load it in place of libnvidia-ml.so.1.
$B/tests/fake-nvml.so: tests/truth/fake-nvml.c
	@mkdir -p $(@D)
	@echo "  HELP  $<"
	$(Q)$(CC) $(filter-out $(SANITIZE),$(cflags)) $(CFLAGS) -MMD -MP $(relro) $(LDFLAGS) -shared -o $@ $<

$B/tests/fault-inject.so: tests/faults/inject.c
	@mkdir -p $(@D)
	@echo "  HELP  $<"
	$(Q)$(CC) $(filter-out $(SANITIZE),$(cflags)) $(CFLAGS) -MMD -MP $(relro) $(LDFLAGS) -shared -o $@ $<

helpers32 := $(if $(m32),$(addprefix $B/tests/32/,fake-gl fps-draw fps-ways) $(if $(layer),$B/tests/32/fps-vk))
$B/tests/32/fps-draw $B/tests/32/fps-ways: $B/tests/32/fake-gl
$B/tests/32/%: tests/helper/%.c
	@mkdir -p $(@D)
	@echo "  HELP  $< (32-bit)"
	$(Q)$(CC) -m32 -D_FILE_OFFSET_BITS=64 $(filter-out $(SANITIZE),$(cflags)) $(CFLAGS) -MMD -MP -o $@ $< \
		$(if $(filter %/fake-gl,$@),$(shell sed -n 's/^ \* Link: //p' $<),$(filter %/fake-gl,$^) -ldl -pthread)

$B/bench/%: bench/%.c $B/libgover.a
	@mkdir -p $(@D)
	@echo "  BENCH $<"
	$(Q)$(CC) $(cflags) $(CFLAGS) -MMD -MP $(ldflags) $(LDFLAGS) -o $@ $< $B/libgover.a $(libs)

$B/eval/mixes: $B/obj/bench/eval/mixes-print.o
$B/eval/mixes $B/eval/adversarial: $B/obj/bench/eval/pool.o
$B/eval/%: bench/eval/%.c $B/libgover.a
	@mkdir -p $(@D)
	@echo "  EVAL  $<"
	$(Q)$(CC) $(cflags) $(CFLAGS) -MMD -MP $(ldflags) $(LDFLAGS) -o $@ $< $(filter %.o,$^) $B/libgover.a $(libs)

# The BPF program is compiled once for each version of control groups and embedded as bytes.
bpf_arch := $(patsubst i%86,x86,$(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(machine))))
$B/bpf/present-1.o $B/bpf/present-2.o: $B/bpf/present-%.o: monitor/bpf/present.bpf.c
	@mkdir -p $(@D)
	@echo "  BPF   $< $*"
	$(Q)$(CLANG) -target bpf -O2 -g -fdebug-compilation-dir=. -ffreestanding -Wall -Wextra $(if $(WERROR),-Werror) \
		-DCGROUPS=$* -D__TARGET_ARCH_$(bpf_arch) -I. -I/usr/include/$(target) -MMD -MP -c -o $@ $<

$B/obj/monitor/bpf/embed.o: monitor/bpf/embed.S $B/bpf/present-1.o $B/bpf/present-2.o
	@mkdir -p $(@D)
	@echo "  AS    $<"
	$(Q)$(CC) -Wa,-I$B/bpf -c -o $@ $<

$B/gz/openapi.etag: gover-d/openapi/openapi.json
	@mkdir -p $(@D)
	@printf '%.16s' "$$(sha256sum <$<)" >$@

$B/obj/gover-d/openapi/embed.o: gover-d/openapi/embed.S gover-d/openapi/openapi.json $B/gz/openapi.json.gz $B/gz/openapi.etag
	@mkdir -p $(@D)
	@echo "  AS    $<"
	$(Q)$(CC) -Wa,-Igover-d/openapi -Wa,-I$B/gz -c -o $@ $<

$B/obj/gover-ctl/verb/embed.o: gover-ctl/verb/embed.S $(wildcard dist/completion/*)
	@mkdir -p $(@D)
	@echo "  AS    $<"
	$(Q)$(CC) -Wa,-Idist/completion -c -o $@ $<

# The web page, with its chart library if Debian's libjs-dygraphs is installed.
dygraphs := /usr/share/javascript/dygraphs
charts   := $(addprefix $B/web/,dygraph.min.js dygraph.min.css)
page     := $(filter-out gover-d/web/embed.S,$(wildcard gover-d/web/*)) $(charts)
$(charts): $B/web/%: $(wildcard $(dygraphs)/*.min.*)
	@mkdir -p $(@D)
	@if [ -f $(dygraphs)/$* ]; then sed '/^.[*/]# sourceMappingURL=/d; s|/[*]# sourceMappingURL=.*||' $(dygraphs)/$* >$@; \
		else : >$@; echo "  SKIP  charts of the page: no $(dygraphs)/$* (libjs-dygraphs)"; fi

$B/gz/page.etag: $(page)
	@mkdir -p $(@D)
	@printf '%.16s' "$$(cat $(page) | sha256sum)" >$@

# Each embedded file is also embedded in compressed form, without the name and the time of the file.
packed_page := $(addsuffix .gz,$(addprefix $B/gz/,$(notdir $(page))))
define packed
	@mkdir -p $(@D)
	@gzip -9 -n -c $< >$@
endef
$B/gz/%.gz: gover-d/web/%
	$(packed)
$B/gz/%.gz: $B/web/%
	$(packed)
$B/gz/%.gz: gover-d/openapi/%
	$(packed)

$B/obj/gover-d/web/embed.o: gover-d/web/embed.S $(page) $(packed_page) $B/gz/page.etag
	@mkdir -p $(@D)
	@echo "  AS    $<"
	$(Q)$(CC) -Wa,-Igover-d/web -Wa,-I$B/web -Wa,-I$B/gz -c -o $@ $<

tests: all $(units) $(helpers) $(helpers32) $(evals) $B/tests/fault-inject.so

check: ## run all tests that need only Debian packages (installs missing packages)
	@dist/install-deps check
	@$(MAKE) --no-print-directory -j$$(nproc) tests
	@B=$B tests/run

unit-tests: all $(units) $B/tests/fake-nvml.so

check-unit: ## run the unit tests, which need no root and no network (installs nothing)
	@$(MAKE) --no-print-directory unit-tests
	@B=$B tests/run /tests/test-

golden: all $B/tests/fake-daemon ## update tests/golden/ from the output of gover-ctl; review the diff before you commit
	@GOLDEN=renew B=$B tests/scenario/420-golden.sh | grep -v '^ok'

# Undefined behaviour becomes a trap, so that AddressSanitizer reports it as well.
sanitizers := -fsanitize=address,undefined -fsanitize-undefined-trap-on-error
check-asan: ## run the tests of `make check` under AddressSanitizer and UndefinedBehaviorSanitizer
	@dist/install-deps check
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@$(MAKE) --no-print-directory -j$$(nproc) B=$B/asan SANITIZE='$(sanitizers)' tests
	@B=$B/asan GOVER_ASAN=1 tests/run

# The tests of modules with threads, and scenarios that use all threads of the daemon.
threaded := $(patsubst %.c,%,$(notdir $(shell grep -lE 'pthread|thread_start' $(unit_sources)))) \
            test-db test-history test-hook test-manager test-webhook test-worker \
            100- 101- 103- 114- 134- 160- 170- 200- 205- 211- 212- 612- 801-
threaded: all $(helpers) $(foreach test,$(threaded),$(filter $B/tests/$(test)%,$(units)))
check-tsan: ## run the tests that use threads under ThreadSanitizer
	@dist/install-deps check
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@$(MAKE) --no-print-directory -j$$(nproc) B=$B/tsan SANITIZE=-fsanitize=thread threaded
	@B=$B/tsan GOVER_ASAN=1 tests/run $(threaded)

# MemorySanitizer takes what an uninstrumented library (sqlite3, jansson, libmicrohttpd, libsystemd) writes for a read of
# unwritten memory. Therefore only programs without such libraries run.
check-msan: ## run unit tests and fuzz corpora without foreign libraries under MemorySanitizer
	@dist/install-deps lint
	@B=$B tests/check-msan

check-valgrind: ## run gover-d with the sim backend for one minute under valgrind
	@dist/install-deps check
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@B=$B tests/check-valgrind

check-memory: ## check that memory stays constant over 10,000 ticks
	@dist/install-deps check
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@B=$B tests/check-memory

check-faults: ## inject faults into gover-d for FAULTS_S (900) seconds (FAULT=NAME SEED=N FAULTS_HOSTS=N)
	@dist/install-deps check
	@$(MAKE) --no-print-directory -j$$(nproc) all $B/tests/fault-inject.so
	@B=$B python3 tests/faults/run.py

check-compute: ## inject FAULTS (1000) faults into compute tenants and gover-arbiter on the device double (FAULT=NAME SEED=N)
	@dist/install-deps check
	@$(MAKE) --no-print-directory -j$$(nproc) all $(compute_parts)
	@B=$B tests/check-compute

check-fleet: ## test the publisher of gover-fleet, and publish for 1,000 hosts to OpenStack's Placement (FLEET_HOSTS=N FLEET_ROUNDS=N FLEET_REAL_ROUNDS=N FLEET_AWAY_S=N FLEET_SEED=N FLEET_PARTS="...")
	@dist/install-deps fleet
	@$(MAKE) --no-print-directory -j$$(nproc) tests
	@B=$B tests/check-fleet

soak: ## run gover-d for 10^6 periods with 64 vGPUs, churn and faults; memory and files must not grow (SOAK_TICKS=N SEED=N)
	@dist/install-deps check
	@$(MAKE) --no-print-directory -j$$(nproc) all $B/tests/fault-inject.so
	@B=$B python3 tests/faults/soak.py

check-kernel: ## test the kernel module and gover-d on it in a virtual machine (skipped without QEMU)
	@dist/install-deps build
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@B=$B tests/check-kernel

check-kernel-xe: ## test the stand-in for an SR-IOV GPU and gover-d on it in a virtual machine (skipped without QEMU)
	@dist/install-deps build
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@B=$B tests/check-kernel-xe

check-kernel-i915: ## build i915's kvmgt with gover's scheduling policy and load it in a virtual machine
	@dist/install-deps build
	@B=$B tests/check-kernel-i915

check-kernel-bpf: ## test fps_source = bpf and guarantees of softgpu on Debian's kernel with control groups v2, in a virtual machine
	@dist/install-deps check
	@$(MAKE) --no-print-directory -j$$(nproc) tests
	@B=$B tests/check-kernel-bpf

check-monitoring: ## test alerts with Prometheus and Alertmanager, and rules and metrics with promtool
	@dist/install-deps monitoring
	@$(MAKE) --no-print-directory -j$$(nproc) tests
	@B=$B tests/run 17

check-guest: ## test FPS reports from programs in a virtual machine (skipped without QEMU)
	@dist/install-deps build
	@$(MAKE) --no-print-directory -j$$(nproc) all $(helpers)
	@B=$B tests/check-guest

check-web: ## test the web page in Chromium on a running daemon (skipped without Chromium or npm)
	@dist/install-deps build
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@B=$B tests/check-web

check-rest: ## judge the REST description with Spectral, generated clients and random requests; not in CI, because the tools are not in Debian (SEED=N REST_STEPS=N)
	@dist/install-deps check
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@B=$B SEED='$(SEED)' REST_STEPS='$(REST_STEPS)' tests/check-rest

check-lighthouse: ## measure the web page with Lighthouse; not in CI, because the scores depend on the machine (RUNS=3)
	@dist/install-deps build
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@B=$B RUNS='$(RUNS)' tests/check-lighthouse

check-model: ## check the models of tests/model/ with spin, and that their wrong variants are refuted
	@dist/install-deps model
	@B=$B CC='$(CC)' tests/model/run

check-system: ## test units and packages on machines booted by systemd-nspawn (skipped without it)
	@dist/install-deps system
	@$(MAKE) --no-print-directory -j$$(nproc) all $(helpers)
	@B=$B tests/check-system

check-upgrade: ## test an upgrade from the first package under load and the way back, a quarter of an hour (not in CI)
	@dist/install-deps system
	@$(MAKE) --no-print-directory -j$$(nproc) all $(helpers)
	@B=$B TEST_TIMEOUT=$(or $(TEST_TIMEOUT),1800) tests/check-system upgrade

check-hosts: ## build on other releases of Debian and Ubuntu and run the tests there (HOSTS="trixie sid")
	@B=$B HOSTS='$(HOSTS)' MIRROR='$(MIRROR)' tests/check-hosts

check-newer-host: ## build on Debian 13 with gcc and run the unit tests there
	@B=$B HOSTS=trixie COMPILERS=gcc MIRROR='$(MIRROR)' tests/check-hosts --unit

check-arm64: ## cross-compile for arm64, run the unit tests with qemu-aarch64 and build the packages, half an hour (not in CI)
	@B=$B COMPILERS='$(COMPILERS)' MIRROR='$(MIRROR)' tests/check-arm64

# The programs run in a system root of Debian 12. It is not part of CI, because it downloads 400 MB.
check-openstack: ## run gover on two hosts of a real OpenStack, in a system root below the build folder
	@dist/install-deps openstack
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@B=$B tests/check-openstack

fuzz: ## run every parser under libFuzzer, FUZZ_SECONDS (20) each
	@dist/install-deps lint
	@B=$B tests/fuzz/run

FUZZ_S   ?= 3600
fuzz-long: ## run every parser under libFuzzer, FUZZ_JOBS (all) at a time, FUZZ_S (3600) seconds each
	@dist/install-deps lint
	@B=$B FUZZ_SECONDS=$(FUZZ_S) FUZZ_JOBS=$(or $(FUZZ_JOBS),$(words $(wildcard tests/fuzz/fuzz-*.c))) tests/fuzz/run

mutate: ## change policy/ and sched/ in one place at a time and list the changes that no test notices (MUTATE_FILES="F..." MUTATE_N=N SEED=1)
	@dist/install-deps mutate
	@B=$B CC='$(CC)' MUTATE_FILES='$(MUTATE_FILES)' MUTATE_N='$(MUTATE_N)' SEED='$(SEED)' tests/mutate/run

# LINT_GCC names a folder that gcc has filled with WERROR=1 already, so that only missing files are compiled. Warnings of
# clang do not depend on optimisation.
warnings: ## compile everything with gcc and clang, warnings as errors
	@dist/install-deps lint
	@$(MAKE) --no-print-directory -j$$(nproc) B=$(or $(LINT_GCC),$B/lint-gcc) CC=gcc WERROR=1 tests benches
	@$(MAKE) --no-print-directory -j$$(nproc) B=$B/lint-clang CC=clang CFLAGS=-O0 WERROR=1 tests benches

lint: warnings ## run `make warnings`, clang-format, cppcheck and shellcheck
	@dist/lint

benches: $(benches)

benchmarks := bench-caps bench-tick bench-reaction bench-fps bench-db bench-rest bench-sysfs bench-vgpus bench-truth bench-sim bench-compute-sim bench-compute bench-cl-layer bench-compute-slice
bench-compute: $(compute_parts)
$(benchmarks): all benches
	@dist/install-deps demo
	@B=$B $(if $(wildcard bench/$@),bench/$@,$B/bench/$@)

# TRACES is a folder of recordings. bench/eval/traces --help lists EVAL_OPTIONS, such as --quick and --sharing guarantee.
eval-traces: all $B/eval/mixes ## compare all policies on recorded GPU load, half an hour (TRACES=DIR SEEDS=20 SEED=1 SECONDS=1500 CONTRACT=50 EVAL_OPTIONS=--quick)
	@B=$B bench/eval/traces $(if $(TRACES),--traces '$(TRACES)') $(if $(SEEDS),--seeds '$(SEEDS)') $(if $(SEED),--seed '$(SEED)') \
		$(if $(SECONDS),--seconds '$(SECONDS)') $(if $(CONTRACT),--contract '$(CONTRACT)') $(EVAL_OPTIONS)

eval: ## repeat the paper's evaluation in virtual time and print the paper's figures beside the results (EVAL_SEEDS=20)
	@dist/install-deps eval
	@$(MAKE) --no-print-directory -j$$(nproc) $B/gover-sim
	@B=$B bench/eval/eval

eval-stability: $B/eval/stability ## measure service and cap writes of policy qos under square waves and constant demands
	@$B/eval/stability

eval-adversarial: $B/eval/adversarial ## measure the policies with demand made to mislead them, ten minutes (EVAL_OPTIONS='--quick --sharing hard')
	@$B/eval/adversarial $(EVAL_OPTIONS) >$B/eval/adversarial.txt && cat $B/eval/adversarial.txt

eval-sensitivity: all ## measure policy qos with each of its constants at 0.5 and 1.5 times the value (TRACES=DIR SEEDS=20)
	@B=$B CC='$(CC)' bench/eval/sensitivity $(if $(TRACES),--traces '$(TRACES)') $(if $(SEEDS),--seeds '$(SEEDS)')

eval-real: ## repeat Figs. 7 and 8 of the paper with real programs on a software GPU (EVAL_SECONDS=80 per policy)
	@dist/install-deps demo
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@B=$B bench/eval/eval-real

demo: ## demonstrate overload, steals and overselling with real programs (DEMO_SECONDS=120)
	@dist/install-deps demo
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@B=$B demo/demo

demo-compute: ## demonstrate the same with OpenCL programs that share a device by turns (DEMO_SECONDS=120)
	@dist/install-deps demo
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@B=$B demo/compute

define manifest # bits, name, library
install -d $(DESTDIR)$(PREFIX)/share/vulkan/implicit_layer.d && sed 's|@LIBRARY@|$(PREFIX)/lib/gover/$3|; s|@BITS@|$1|' \
		fps-preload/layer/gover_fps.json.in >$(DESTDIR)$(PREFIX)/share/vulkan/implicit_layer.d/$2.json
endef

INCLUDEDIR ?= $(PREFIX)/include
# debian/rules sets these for Debian 12.
UNITDIR ?= $(PREFIX)/lib/systemd/system
UDEVDIR ?= $(PREFIX)/lib/udev/rules.d
ZSHDIR  ?= $(PREFIX)/share/zsh/site-functions
examples := $(PREFIX)/share/gover/examples
filled    = sed -e '/@SANDBOX@/{r dist/systemd/sandbox.in' -e 'd}' $< | \
	sed -e 's|@SBINDIR@|$(PREFIX)/sbin|g; s|@EXAMPLES@|$(examples)|g' >$@
# Rebuilt when PREFIX changes.
made     := $(addprefix $B/systemd/,gover-d.service gover-restore.service $(if $(fleet),gover-fleet.service)) \
            $(patsubst dist/examples/%,$B/examples/%,$(filter-out $(if $(fleet),,dist/examples/fleet-%),$(wildcard dist/examples/*.conf)))
$B/prefix: FORCE
	@mkdir -p $B
	@echo '$(PREFIX)' | cmp -s - $@ || echo '$(PREFIX)' >$@
$B/systemd/%: dist/systemd/%.in dist/systemd/sandbox.in $B/prefix
	@mkdir -p $(@D)
	@$(filled)
$B/examples/%: dist/examples/% $B/prefix
	@mkdir -p $(@D)
	@$(filled)
FORCE:

pages := $(filter-out $(if $(cl_layer),,man/compute-layer.7) $(if $(fleet),,man/gover-fleet.8 man/fleet.conf.5),$(wildcard man/*.[1-8]))
# The installed README.md has links to installed documents only.
$B/doc/README.md: README.md
	@mkdir -p $(@D)
	@sed 's|](docs/|](|g; s,\[\(CONTRIBUTING.md\|kernel/README.md\)\]([^)]*),\1 (in the source),' $< >$@
install: all $(made) $B/doc/README.md ## install below $(DESTDIR)$(PREFIX)
	install -D -m 0755 -t $(DESTDIR)$(PREFIX)/sbin $B/gover-d $B/gover-arbiter $(fleet)
	install -D -m 0755 -t $(DESTDIR)$(PREFIX)/bin $B/gover-ctl $B/gover-sim
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/lib/gover $B/libgover-fps.so $(layer) $(cl_layer)
	$(if $(cl_layer),install -D -m 0644 -t $(DESTDIR)$(INCLUDEDIR) compute/cl/gover-slice.h)
	$(if $(libs32),install -D -m 0644 -t $(DESTDIR)$(PREFIX)/lib/gover/32 $(libs32))
	$(if $(layer),$(call manifest,64,gover_fps,libgover-fps-layer.so))
	$(if $(filter %-layer.so,$(libs32)),$(call manifest,32,gover_fps32,32/libgover-fps-layer.so))
	for page in $(pages); do \
		install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/man/man$${page##*.} $$page || exit; done
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/lib/systemd/catalog dist/gover.catalog
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/gover/prometheus $(wildcard dist/prometheus/*)
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/gover/grafana $(wildcard dist/grafana/*)
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/doc/gover dist/gover.conf.example $B/doc/README.md LICENSE \
		$(wildcard docs/*.md docs/*.png)
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/doc/gover/runbook $(wildcard docs/runbook/*.md)
	install -D -m 0644 dist/completion/gover-ctl.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/gover-ctl
	install -D -m 0644 dist/completion/_gover-ctl $(DESTDIR)$(ZSHDIR)/_gover-ctl
	install -D -m 0644 -t $(DESTDIR)$(UNITDIR) $(filter %.service,$(made)) dist/systemd/gover.socket dist/systemd/gover-tcp.socket
	install -D -m 0644 -t $(DESTDIR)$(UDEVDIR) dist/systemd/60-gover.rules
	install -D -m 0644 dist/systemd/gover.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/gover.conf
	install -D -m 0644 dist/systemd/gover.tmpfiles $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/gover.conf
	install -D -m 0644 -t $(DESTDIR)$(examples) $(filter %.conf,$(made)) dist/examples/sim.ini
	install -D -m 0755 -t $(DESTDIR)$(examples) dist/examples/sim-tenants $(if $(fleet),dist/examples/libvirt-hook)
	$(if $(fleet),install -D -m 0644 -t $(DESTDIR)$(examples) $(wildcard dist/examples/*.yaml))
	$(if $(fleet),install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/doc/gover-fleet dist/fleet.conf.example)
	$(if $(fleet),install -D -m 0644 dist/systemd/gover-fleet.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/gover-fleet.conf)

# Removes the files that `make install` writes with the same variables, and folders that are empty afterwards.
uninstall: ## remove what `make install` wrote with the same PREFIX and DESTDIR
	@stage=$$(mktemp -d) && trap 'rm -rf "$$stage"' EXIT && $(MAKE) --no-print-directory -s install DESTDIR="$$stage" && \
		(cd "$$stage" && find . ! -type d -printf '%P\n') | while read -r file; do rm -fv "$(DESTDIR)/$$file" || exit; done && \
		(cd "$$stage" && find . -depth -mindepth 1 -type d -path '*gover*' -printf '%P\n') | \
		while read -r folder; do [ ! -d "$(DESTDIR)/$$folder" ] || rmdir --ignore-fail-on-non-empty "$(DESTDIR)/$$folder"; done

# The last commit gives the same archive everywhere: all times in it are that of the commit. A distribution has its own debian/.
dist: ## write the source archive $(B)/gover-VERSION.tar.gz of the last commit
	@mkdir -p $B
	@git diff --quiet HEAD || echo "dist: uncommitted changes are not in the archive" >&2
	@git -c tar.umask=0022 archive --prefix=gover-$(version)/ -o $B/gover-$(version).tar HEAD . ':!debian'
	@gzip -9nf $B/gover-$(version).tar
	@echo "  DIST  $B/gover-$(version).tar.gz"

deb: ## build Debian packages in $(B)/deb/out and check them with lintian
	@dist/install-deps deb
	@B=$B dist/make-deb

help: ## print this list
	@sed -n 's/^\([a-z0-9-]*\):.*## */\1\t/p' $(MAKEFILE_LIST) | sort | expand -t 20
	@printf 'bench-*\tmeasure and compare with a reference: $(benchmarks)\n' | expand -t 20

clean: ## remove the build folder
	rm -rf $B

.PHONY: FORCE $(benchmarks) all tests unit-tests benches check check-unit check-asan check-tsan check-msan check-valgrind check-memory check-compute check-fleet check-kernel check-kernel-xe check-kernel-i915 check-kernel-bpf check-guest check-web check-rest check-lighthouse check-monitoring check-model check-system check-upgrade check-hosts check-arm64 check-newer-host check-openstack check-kernel-units threaded fuzz fuzz-long soak mutate warnings lint demo demo-compute install uninstall dist deb help clean golden
.PHONY: eval eval-adversarial eval-real eval-sensitivity eval-stability eval-traces
-include $(shell find $B \( -path $B/bare -o -path $B/openstack -o -path $B/hosts \) -prune -o -name '*.d' -type f -print 2>/dev/null)
