# gover: one file, not recursive. `make help` lists the targets.
# Users may set CC, CLANG (for BPF programs), PKG_CONFIG, AR, CFLAGS, LDFLAGS, PREFIX, DESTDIR and B (build
# folder). Lower-case variables hold the flags that gover always needs. V=1 prints each command. Nothing that
# is compiled runs during the build: CC and PKG_CONFIG of another architecture are enough for a cross-build.

CC     ?= gcc
CLANG  ?= clang
PKG_CONFIG ?= pkg-config
AR     := $(if $(filter default,$(origin AR)),$(shell $(CC) -print-prog-name=ar),$(AR))
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
B      ?= build
Q      := $(if $(V),,@)
export B

version  := $(shell cat VERSION)
packages := libmicrohttpd jansson libsystemd sqlite3 smartcols libcurl gnutls
warnings := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
            -Wswitch-enum -Wpointer-arith -Wcast-qual -Wundef $(if $(WERROR),-Werror)
# What $(CC) compiles for, in Debian's form: x86_64-linux-gnu.
triplet  := $(or $(shell $(CC) -print-multiarch 2>/dev/null),$(shell $(CC) -dumpmachine))
target   := $(subst -pc-,-,$(subst -unknown-,-,$(triplet)))
machine  := $(firstword $(subst -, ,$(target)))
# Hardening as in Debian packages. FORTIFY needs optimisation; a sanitizer needs the unchanged functions. CET
# exists on x86, BTI and signed return addresses on arm64. clang 14 does not check stack clashes on arm64.
fortify  := $(if $(SANITIZE)$(findstring _FORTIFY_SOURCE,$(CFLAGS)),, \
              $(if $(filter -O1 -O2 -O3 -Os,$(CFLAGS)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3))
branches := $(if $(filter x86_64 i%86,$(machine)),-fcf-protection, \
              $(if $(filter aarch64,$(machine)),-mbranch-protection=standard))
flags     = $(shell $(PKG_CONFIG) $1 $2 2>/dev/null)
builds    = $(shell echo 'int main(void) { return 0; }' | $1 -xc -o /dev/null - 2>/dev/null && echo yes)
clash    := $(if $(call builds,$(CC) -Werror -fstack-clash-protection -c),-fstack-clash-protection)
cflags   := -std=c11 -D_GNU_SOURCE -DGOVER_VERSION='"$(version)"' -I. -fPIC -fstack-protector-strong \
            $(clash) $(branches) $(fortify) $(warnings) $(SANITIZE) \
            $(call flags,--cflags,$(packages)) $(call flags,--cflags,libxml-2.0)
unsanitized := $(filter-out $(SANITIZE),$(cflags))
relro    := -Wl,-z,relro,-z,now
ldflags  := $(SANITIZE) $(relro)
kind     := -pie
libs     := -pthread
comma    := ,

# What can be built here. fps_source = bpf needs a clang for BPF programs; `make BPF=` builds without it.
has       = $(shell $(PKG_CONFIG) --exists '$1' 2>/dev/null && echo yes)
libs_of   = $(call flags,--libs,$1)
BPF      := $(if $(call has,libbpf >= 1.0 libelf),$(call builds,$(CLANG) -target bpf -c))
opencl   := $(call has,OpenCL OpenCL-Headers)
libvirt  := $(call has,libvirt)
m32      := $(if $(filter x86_64,$(machine)),$(call builds,$(CC) -m32))
all_libs := $(call libs_of,$(packages) $(if $(BPF),libbpf libelf)) -lm -pthread
# Programs and tests link one archive: every source except main() and the libraries for other programs.
absent   := $(if $(BPF),monitor/bpf/none.c,monitor/bpf/bpf.c) \
            $(if $(libvirt),,gover-fleet/claim/domains.c gover-fleet/migrate/libvirt-move.c)
folders  := base policy kernel/sched db sim gpu monitor gover-d gover-ctl gover-fleet tests/double/device \
            tests/bench/compute $(addprefix compute/,arbiter channel tenant server)
found    := $(sort $(shell find $(folders) -name '*.c' ! -name main.c ! -name '*.bpf.c'))
sources  := $(filter-out $(absent),$(found)) compute/cl/slice-plan.c compute/cl/slice-text.c
embedded := $(addsuffix /embed.o,gover-d/web gover-d/openapi gover-ctl/main $(if $(BPF),monitor/bpf))
objects   = $(patsubst %.c,$B/obj/%.o,$1)
names     = $(filter-out $3,$(patsubst $1/%.c,%,$(wildcard $1/$2.c)))
layer    := $(if $(call has,vulkan),$B/libgover-fps-layer.so)
cl_layer := $(if $(opencl),$B/libgover-cl.so)
libs32   := $(if $(m32),$B/32/libgover-fps.so $(layer:$B/%=$B/32/%))
fleet    := $(if $(libvirt),$B/gover-fleet)
programs := $(addprefix $B/,gover-d gover-arbiter gover-ctl gover-sim libgover-fps.so gover-terrain) \
            $(fleet) $(layer) $(cl_layer) $(if $(opencl),$B/libgover-double.so $B/gover-kernels)
no_units := $(if $(BPF),,%/test-fps-bpf-symbols.c) $(if $(opencl),,%/test-compute-cl.c \
            %/test-compute-cl-slice.c) $(if $(libvirt),,%/test-fleet-mover.c)
unit_sources := $(filter-out $(no_units),$(shell find tests/unit -name 'test-*.c'))
units    := $(patsubst %.c,$B/tests/%,$(notdir $(unit_sources)))
shared_units := $(call objects,$(shell find tests/unit -name '*.c' ! -name 'test-*'))
no_help  := $(if $(layer),,fps-vk) $(if $(opencl),,cl-api cl-tenant cl-layer cl-calls cl-slice)
helper    = $(addprefix $B/tests/,$1)
helpers  := $(call helper,$(call names,tests/helper,*,$(no_help)))
helpers32 := $(if $(m32),$(call helper,$(addprefix 32/,fake-gl fps-draw fps-ways $(if $(layer),fps-vk))))
others   := $(call helper,fault-inject.so fake-nvml.so $(if $(opencl),cl-conformance))
benches  := $(addprefix $B/bench/,$(call names,tests/bench,bench-*,$(if $(opencl),,bench-cl-layer)))
evals    := $(addprefix $B/eval/,$(call names,tests/bench/eval,*,bound pool))

skip      = $(if $1,,@echo "  SKIP  $2")
all: $(programs) $(libs32) $B/man/gover-api.7 ## build everything (default)
	$(call skip,$(m32),32-bit libraries: $(CC) -m32 links nothing here (gcc-multilib on x86_64))
	$(call skip,$(layer),libgover-fps-layer.so: no Vulkan headers (libvulkan-dev))
	$(call skip,$(fleet),gover-fleet: no libvirt headers (libvirt-dev))
	$(call skip,$(opencl),libgover-cl.so and OpenCL programs: no OpenCL headers (ocl-icd-opencl-dev))

# --- compiling ---

say       = @mkdir -p $(@D) && echo "  $1"
define compile
$(call say,CC    $<)
$(Q)$(CC) $(cflags) $(CFLAGS) -MMD -MP -c -o $@ $<
endef
$B/obj/%.o: %.c VERSION
	$(compile)
# tests/unit/ mirrors the source folders; the programs are in one folder.
vpath test-%.c $(sort $(dir $(unit_sources)))
$B/tests/test-%.o: test-%.c
	$(compile)

# Without sanitizers, because the 32-bit programs in the tests have none. Without _FILE_OFFSET_BITS, stat()
# fails for inode numbers above 32 bits.
$B/obj32/%.o: %.c VERSION
	$(call say,CC32  $<)
	$(Q)$(CC) -m32 -D_FILE_OFFSET_BITS=64 $(unsanitized) $(CFLAGS) -MMD -MP -c -o $@ $<

# Tests need assertions. cmocka 2 deprecates macros whose successors cmocka 1 does not have. With -flto, gcc
# warns about outputs that a failed call leaves unset: it does not know that an assertion ends the test.
$(units:%=%.o) $(shared_units): cflags += -UNDEBUG -DCMOCKA_DISABLE_DEPRECATION_WARNINGS \
  $(if $(findstring -flto,$(CFLAGS)),-Wno-maybe-uninitialized -Wno-stringop-overflow)
# The i915 policy is tested with the headers in tests/i915 and without the warnings that i915 disables.
$(filter $B/tests/test-sched-policy%,$(units:%=%.o)): \
  cflags += -Itests/i915 -Wno-unused-parameter -Wno-sign-compare
# Without a sanitizer, because other programs load them, or because they replace what it calls at its start.
$(call objects,tests/helper/clock-shift.c tests/truth/fake-nvml.c tests/faults/inject.c): \
  cflags := $(unsanitized)
# As in real libraries, each function starts with a push instruction and makes no tail call.
$B/obj/tests/helper/frame-gl.o: override CFLAGS += -O0

# Files that embed others find them in the folders of their prerequisites.
$B/obj/%.o: %.S
	$(call say,AS    $<)
	$(Q)$(CC) $(patsubst %,-Wa$(comma)-I%,$(sort $(dir $(filter-out $<,$^)))) -c -o $@ $<

# The BPF program is compiled once for each version of control groups.
bpf_arch := $(patsubst i%86,x86,$(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(machine))))
$B/bpf/present-%.o: monitor/bpf/present.bpf.c
	$(call say,BPF   $< $*)
	$(Q)$(CLANG) -target bpf -O2 -g -fdebug-compilation-dir=. -ffreestanding -Wall -Wextra \
		$(if $(WERROR),-Werror) -DCGROUPS=$* -D__TARGET_ARCH_$(bpf_arch) -I. \
		-I/usr/include/$(target) -MMD -MP -c -o $@ $<
$B/obj/monitor/bpf/embed.o: $B/bpf/present-1.o $B/bpf/present-2.o
$B/obj/gover-ctl/main/embed.o: $(wildcard dist/completion/*)
$B/obj/tests/workloads/kernels/embed.o: $(wildcard tests/workloads/kernels/cl/*.cl)

# The web page, with its chart library if Debian's libjs-dygraphs is installed, and the REST description. Each
# file is also embedded in compressed form, without the name and the time of the file.
dygraphs := /usr/share/javascript/dygraphs
charts   := $B/web/dygraph.min.js $B/web/dygraph.min.css
page     := $(filter-out %.S,$(wildcard gover-d/web/*)) $(charts)
openapi  := gover-d/openapi/openapi.json
$(charts): $B/web/%: $(wildcard $(dygraphs)/*.min.*)
	@mkdir -p $(@D) && if [ -f $(dygraphs)/$* ]; then \
		sed '/^.[*/]# sourceMappingURL=/d; s|/[*]# sourceMappingURL=.*||' $(dygraphs)/$* >$@; \
		else : >$@; echo "  SKIP  charts of the page: no $(dygraphs)/$* (libjs-dygraphs)"; fi
$B/gz/page.etag: $(page)
$B/gz/openapi.etag: $(openapi)
$B/gz/%.etag:
	@mkdir -p $(@D) && cat $^ | sha256sum | head -c 16 >$@
packed    = $(patsubst %,$B/gz/%.gz,$(notdir $1))
$(foreach file,$(page) $(openapi),$(eval $(call packed,$(file)): $(file)))
$B/gz/%.gz:
	@mkdir -p $(@D) && gzip -9 -n -c $< >$@
$B/obj/gover-d/web/embed.o: $(page) $(call packed,$(page)) $B/gz/page.etag
$B/obj/gover-d/openapi/embed.o: $(openapi) $(call packed,$(openapi)) $B/gz/openapi.etag

# --- linking ---

$B/libgover.a: $(call objects,$(sources)) $(addprefix $B/obj/,$(embedded))
$B/libunit.a: $(shared_units)
$B/libgover.a $B/libunit.a:
	@mkdir -p $(@D) && rm -f $@
	$(Q)$(AR) qcs $@ $^

$B/gover-d: $B/obj/gover-d/main.o $B/libgover.a
$B/gover-ctl: $B/obj/gover-ctl/main/main.o $B/libgover.a
$B/gover-ctl: private libs := $(call libs_of,jansson libcurl libsystemd ncursesw smartcols) -lm
$B/gover-fleet: $B/obj/gover-fleet/main.o $B/libgover.a
$B/gover-fleet: private libs := $(call libs_of,libcurl jansson libsystemd libvirt libxml-2.0) -pthread
$B/gover-arbiter: $B/obj/compute/server/main.o $B/libgover.a
$B/gover-sim: $B/obj/sim/host/main.o $B/libgover.a
$B/gover-sim: private libs := $(call libs_of,fuse3 jansson smartcols) -lm -pthread
$B/gover-terrain: $B/obj/tests/workloads/terrain.o
$B/gover-kernels: $(call objects,$(wildcard tests/workloads/kernels/*.c) base/clock.c base/parse.c) \
                  $B/obj/tests/workloads/kernels/embed.o

# The Vulkan layer shares a part of the preload library, but wraps no GL symbols.
preload  := $(wildcard base/preload/*.c)
counting := channel connection frame limit report setup shared-page
fps       = $(patsubst %.c,$1/%.o,$(wildcard fps-preload/*.c) $(preload)) fps-preload/exports.map
counts    = $(patsubst %.c,$1/%.o,$(wildcard fps-preload/layer/*.c) $(counting:%=fps-preload/%.c) $(preload))
$B/libgover-fps.so: $(call fps,$B/obj)
$B/32/libgover-fps.so: $(call fps,$B/obj32)
$B/libgover-fps-layer.so: $(call counts,$B/obj) fps-preload/layer/exports.map
$B/32/libgover-fps-layer.so: $(call counts,$B/obj32) fps-preload/layer/exports.map
# The double contains its pure part, which libgover.a has for the unit tests, and a parser of base/.
double   := $(wildcard tests/double/*.c tests/double/device/*.c)
$B/libgover-double.so: $(call objects,$(double) base/parse.c) tests/double/exports.map
$B/libgover-cl.so: $(call objects,$(wildcard compute/cl/*.c compute/tenant/*.c)) compute/cl/exports.map \
                   $(call objects,$(preload) $(addprefix compute/channel/,memfd.c message.c))
$B/libgover-fps.so $B/32/libgover-fps.so: private libs := -ldl -lm -pthread
$B/libgover-fps.so $B/32/libgover-fps.so: private kind := -shared
$(addprefix $B/,libgover-fps-layer.so 32/libgover-fps-layer.so libgover-double.so libgover-cl.so): \
  private kind := -shared -Wl,-z,nodelete
$(units): %: %.o $B/libunit.a $B/libgover.a
unit_libs := -lcmocka $(all_libs) $(call libs_of,ncursesw libxml-2.0)
$(units): private libs := $(unit_libs)
$B/tests/test-fleet-mover: private libs := $(unit_libs) $(call libs_of,libvirt)
$B/tests/test-truth-nvml: | $B/tests/fake-nvml.so
$B/tests/test-compute-cl $B/tests/test-compute-cl-slice: | $(cl_layer)
$(helpers): $B/tests/%: $B/obj/tests/helper/%.o
$(helpers32): $B/tests/32/%: $B/obj32/tests/helper/%.o
$(call helper,cl-arbiter cl-scribble compute-ctl double-truth fleet-hosts fps-sink): $B/libgover.a
$B/tests/double-truth: $B/obj/tests/double/store.o
$B/tests/fault-inject.so: $B/obj/tests/faults/inject.o
$B/tests/fake-nvml.so: $B/obj/tests/truth/fake-nvml.o
$B/tests/cl-conformance: $(call objects,tests/workloads/kernels/device.c base/parse.c \
                         $(wildcard tests/helper/cl-conformance/*.c))
$(call helper,fps-draw fps-frames fps-gpu fps-steps): private libs := -lEGL -lGL -ldl -pthread
$B/gover-terrain $B/tests/fps-windows: private libs := -lGL -lX11 -lm -pthread
$B/gover-kernels $(call helper,cl-api cl-calls cl-slice cl-tenant cl-conformance): \
  private libs := -lOpenCL -lm -pthread
$B/tests/fleet-hosts: private libs := -lcurl -ljansson -pthread
$B/tests/fps-sink: private libs := -lm
$B/tests/odd-fs: private libs := $(call libs_of,fuse3) -pthread
# Other programs load these.
loaded   := $(call helper,clock-shift fault-inject.so fake-nvml.so)
$(loaded) $(call helper,cl-layer fps-allocs fps-end fps-next fps-plugin fps-take): private kind := -shared
$(loaded): private ldflags := $(relro)
$(call helper,fake-gl frame-gl 32/fake-gl): private kind := -shared -Wl,-Bsymbolic \
  -Wl,-soname,libfake-gl.so.1 -Wl,--default-symver
$B/tests/fps-ways $B/tests/fps-plugin: $B/tests/fake-gl
$B/tests/fps-ways $B/tests/fps-plugin: private libs := -Wl,--no-as-needed $B/tests/fake-gl
$(call helper,32/fps-draw 32/fps-ways): $B/tests/32/fake-gl
$(call helper,32/fps-draw 32/fps-ways): private libs := $B/tests/32/fake-gl
$(libs32) $(helpers32): private ldflags := -m32 $(relro)
$(benches): $B/bench/%: $B/obj/tests/bench/%.o $B/libgover.a
$(evals): $B/eval/%: $B/obj/tests/bench/eval/%.o $B/libgover.a
$B/eval/mixes $B/eval/adversarial: $B/obj/tests/bench/eval/pool.o
$B/eval/mixes $B/eval/adversarial $B/tests/test-experiment-bound: $B/obj/tests/bench/eval/bound.o
$(benches) $(evals) $B/gover-d: private libs := $(all_libs)

$(programs) $(libs32) $(units) $(helpers) $(helpers32) $(others) $(benches) $(evals):
	$(call say,LD    $@)
	$(Q)$(CC) $(kind) $(ldflags) $(LDFLAGS) $(addprefix -Wl$(comma)--version-script=,$(filter %.map,$^)) \
		-o $@ $(filter %.o,$^) $(filter %.a,$^) $(libs)

# --- tests ---

unit-tests: all $(units) $B/tests/fake-nvml.so
check-unit: unit-tests ## run the unit tests, which need no root and no network; installs nothing
	@tests/run /tests/test-
tests: all $(units) $(helpers) $(helpers32) $(others) $(evals)
benches: $(benches)
compute_parts := $(if $(opencl),$(addprefix $B/,bench/bench-cl-layer \
                   $(addprefix tests/,cl-tenant cl-scribble compute-ctl double-truth)))

# $(call suite,NAME,PACKAGES,FILES,COMMAND) installs PACKAGES of dist/install-deps, builds FILES, and runs
# COMMAND or tests/NAME. Variables such as SEED=1 are in its environment.
suite     = $(eval suites += $1)$(eval $1: private needs := $2)$(eval $1: private files := $3) \
            $(eval $1: private command = $(or $4,tests/$1))
$(call suite,check,check,tests,tests/run) ## run all tests that need only Debian packages, which it installs
$(call suite,check-long,check,tests,tests/run --long) ## run the scenarios that take a minute or more
$(call suite,check-asan,check,all) ## run unit tests, and scenarios that parse, under AddressSanitizer
$(call suite,check-tsan,check,all) ## run the tests that use threads under ThreadSanitizer
$(call suite,check-msan,lint) ## run tests and fuzz corpora without foreign libraries under MemorySanitizer
$(call suite,check-valgrind,check,all) ## run gover-d with the sim backend for one minute under valgrind
$(call suite,check-memory,check,all) ## check that memory stays constant over 10,000 ticks
$(call suite,check-faults,check,all $(others),python3 tests/faults/run.py) ## inject faults (FAULTS_S=N)
$(call suite,check-machine,check,all $(others),python3 tests/faults/machine.py) ## compare REST with a model
$(call suite,soak,check,all $(others),python3 tests/faults/soak.py) ## run 10^6 periods of faults (SOAK_TICKS)
$(call suite,check-compute,check,all $(compute_parts)) ## inject FAULTS (1000) into compute tenants (SEED=N)
$(call suite,check-fleet,fleet,tests) ## test gover-fleet on OpenStack's Placement (FLEET_ROUNDS=N)
$(call suite,check-monitoring,monitoring,tests,tests/run scenario/alerts/) ## test alerts with Prometheus
$(call suite,check-kernel,build,all) ## test gover-d on the module gover_gvt in a virtual machine
$(call suite,check-kernel-xe,build,all) ## test gover-d on the module gover_xe in a virtual machine
$(call suite,check-kernel-i915,build) ## build i915's kvmgt with gover's policy, load it in a virtual machine
$(call suite,check-kernel-bpf,check,tests) ## test fps_source = bpf on Debian's kernel in a virtual machine
$(call suite,check-guest,build,all $(helpers) $(others)) ## test FPS reports from a virtual machine
$(call suite,check-web,build,all) ## test the web page in Chromium on a running daemon
$(call suite,check-lighthouse,build,all) ## measure the web page with Lighthouse, on an idle machine (RUNS=3)
$(call suite,check-rest,check,all) ## judge the REST description with Spectral and clients (REST_STEPS=N)
$(call suite,check-model,model,,CC='$(CC)' tests/model/run) ## check the models of tests/model/ with spin
$(call suite,check-system,system,all $(helpers) $(others)) ## test units and packages with systemd-nspawn
$(call suite,check-upgrade,system,all $(helpers) $(others)) ## test an upgrade from the first package
$(call suite,check-hosts) ## build on other releases of Debian and Ubuntu, run tests there (HOSTS="sid")
$(call suite,check-newer-host,,,HOSTS=trixie COMPILERS=gcc tests/check-hosts --unit) ## test Debian 13
$(call suite,check-arm64) ## cross-compile for arm64, run the unit tests with qemu, build packages
$(call suite,check-openstack,openstack,all) ## run gover on two hosts of a real OpenStack
$(call suite,check-all,check,tests) ## run the suites that CI does not run, some hours
$(call suite,fuzz,lint,,tests/fuzz/run) ## run every parser under libFuzzer, FUZZ_SECONDS (20) each
$(call suite,fuzz-long,lint) ## run all parsers under libFuzzer at the same time, FUZZ_S (3600) seconds each
$(call suite,mutate,mutate,,CC='$(CC)' tests/mutate/run) ## list changes that no test notices (MUTATE_FILES=F)
$(call suite,golden,,all,GOLDEN=renew tests/scenario/ctl/golden.sh) ## renew tests/golden
$(call suite,lint,lint,warnings,dist/lint) ## run `make warnings`, clang-format, cppcheck and shellcheck
$(call suite,demo,demo,all,tests/demo/demo) ## show overload, steals and overselling (DEMO_SECONDS=120)
$(call suite,demo-compute,demo,all,tests/demo/compute) ## show the same with OpenCL (DEMO_SECONDS=120)
$(call suite,eval,eval,$B/gover-sim,tests/bench/eval/eval) ## repeat the paper's evaluation (EVAL_SEEDS=20)
$(call suite,eval-real,demo,all,tests/bench/eval/eval-real) ## repeat Figs. 7 and 8 (EVAL_SECONDS=80)
$(call suite,eval-traces,,all $B/eval/mixes) ## compare all policies on recorded load (TRACES=DIR SEEDS=20)
$(call suite,eval-stability,,$B/eval/stability,$B/eval/stability) ## measure policy qos under square waves
$(call suite,eval-adversarial,,$B/eval/adversarial) ## measure policies with misleading demand
$(call suite,deb,deb,,dist/make-deb) ## build Debian packages in build/deb/out and check them with lintian

$(suites):
	$(if $(needs),@for purpose in $(needs); do dist/install-deps $$purpose || exit; done)
	$(if $(strip $(files)),@$(MAKE) --no-print-directory -j$$(nproc) $(files))
	@$(command)
check-upgrade: private command = TEST_TIMEOUT=$(or $(TEST_TIMEOUT),1800) tests/check-system upgrade
fuzz-long: private command = FUZZ_SECONDS=$(or $(FUZZ_S),3600) \
  FUZZ_JOBS=$(or $(FUZZ_JOBS),$(words $(wildcard tests/fuzz/fuzz-*.c))) tests/fuzz/run

# LINT_GCC names a folder that gcc has filled with WERROR=1. Warnings of clang do not depend on optimisation.
warnings: ## compile everything with gcc and clang, warnings as errors
	@dist/install-deps lint
	@$(MAKE) --no-print-directory -j$$(nproc) WERROR=1 B=$(or $(LINT_GCC),$B/lint-gcc) CC=gcc tests benches
	@$(MAKE) --no-print-directory -j$$(nproc) WERROR=1 B=$B/lint-clang CC=clang CFLAGS=-O0 tests benches
# TRACES is a folder of recordings. tests/bench/eval/traces --help lists EVAL_OPTIONS, such as --quick.
given     = $(if $($1),--$2 '$($1)')
eval-traces: private command = tests/bench/eval/traces $(call given,TRACES,traces) $(call given,SEEDS,seeds) \
  $(call given,SEED,seed) $(call given,SECONDS,seconds) $(call given,CONTRACT,contract) $(EVAL_OPTIONS)
eval-adversarial: private command = $B/eval/adversarial $(EVAL_OPTIONS) >$B/eval/adversarial.txt && \
  cat $B/eval/adversarial.txt
timed := $(addprefix bench-,caps tick reaction fps db rest sysfs vgpus truth sim compute-sim compute \
                cl-layer compute-slice)
bench-compute: $(compute_parts)
$(timed): all benches
	@dist/install-deps demo
	@$(if $(wildcard tests/bench/$@),tests/bench/$@,$B/bench/$@)

$B/man/gover-api.7: man/gover-api.in man/gover-api.py gover-d/openapi/openapi.json
	@mkdir -p $(@D)
	$(Q)python3 man/gover-api.py gover-d/openapi/openapi.json $< >$@.new && mv $@.new $@
# INCLUDEDIR, UNITDIR, UDEVDIR, ZSHDIR and SOSDIR select other folders.
install: all ## install below $(DESTDIR)$(PREFIX)
uninstall: ## remove what `make install` wrote with the same PREFIX and DESTDIR
install uninstall:
	@PREFIX='$(PREFIX)' dist/install $@

# The last commit gives the same archive everywhere: all times in it are that of the commit.
dist: ## write the source archive $(B)/gover-VERSION.tar.gz of the last commit
	@mkdir -p $B
	@git diff --quiet HEAD || echo "dist: uncommitted changes are not in the archive" >&2
	@git -c tar.umask=0022 archive --prefix=gover-$(version)/ -o $B/gover-$(version).tar HEAD . ':!debian'
	@gzip -9nf $B/gover-$(version).tar
	@echo "  DIST  $B/gover-$(version).tar.gz"

help: ## print this list
	@sed -n -e 's/^\([a-z0-9-]*\):.*## */\1\t/p' -e 's/^$$(call suite,\([a-z0-9-]*\).*) ## */\1\t/p' \
		$(MAKEFILE_LIST) | sort | expand -t 20
	@printf 'bench-*\tmeasure and compare with a reference: $(timed)\n' | expand -t 20
clean: ## remove the build folder
	rm -rf $B

.PHONY: all tests unit-tests check-unit benches warnings $(suites) $(timed) install uninstall dist help clean
-include $(shell find $B/obj $B/obj32 $B/bpf $B/tests -name '*.d' -type f 2>/dev/null)
