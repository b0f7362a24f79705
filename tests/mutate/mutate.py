# SPDX-License-Identifier: MIT
# make mutate: changes policy/ and kernel/sched/ in one place at a time (mutants.py) and counts the changes that no unit test
# notices. Each source file is a shared library, so that a mutant needs one compilation and no new test program.
#
# A mutant runs the tests that execute its function, one after another, until one fails. A test also fails if it uses
# ten times as much CPU time as without the change, and 2 s more. A surviving mutant is equivalent if its machine code
# is the same, or if tests/mutate/equivalent.txt names it with a reason. $B/mutate/cache.json keeps each result until the
# file with its headers or a test changes. Other files of the project do not count: remove the cache to start anew.
import collections
import glob
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import mutants

B = os.environ.get("B", "build") + "/mutate"
CC = os.environ.get("CC", "gcc")
INCLUDES = ["-std=c11", "-D_GNU_SOURCE", "-I."]
SANITIZE = ["-fsanitize=address,undefined,bounds-strict", "-fsanitize-undefined-trap-on-error"]
REQUIRED_PCT = 95

# The source folders, the tests that are tried, and tests that would take longer than all others together.
SOURCES = ["policy", "kernel/sched"]
TESTS = [
    "tests/unit/policy/**/test-*.c",
    "tests/unit/kernel/sched/test-*.c",
    "tests/unit/sim/experiment/test-*.c",
    "tests/unit/sim/model/test-*.c",
    "tests/unit/gover-d/sale/test-offers.c",
]
SLOW = ["test-experiment-whatif"]
EQUIVALENT = "tests/mutate/equivalent.txt"

# A leak check takes most of the time of a short test. cmocka ends the program at the first failed test. Random tests
# run a part of their histories.
ENVIRONMENT = {
    **os.environ,
    "ASAN_OPTIONS": "detect_leaks=0:handle_abort=0",
    "CMOCKA_TEST_ABORT": "1",
    "GOVER_TEST_PCT": "5",
}


def fail(message):
    sys.exit(f"mutate: {message}")


def library_of(path):
    return "lib" + path.removesuffix(".c").replace("/", "-") + ".so"


def compile_library(text, path, target, flags):
    """Compiles the source @text of the file @path. Returns True if the compiler accepts it."""
    command = [CC, *INCLUDES, *flags, "-w", "-fPIC", "-shared", f"-Wl,-soname,{library_of(path)}"]
    command += ["-o", target, "-xc", "-"]
    return subprocess.run(command, input=text, stderr=subprocess.DEVNULL).returncode == 0


def digest(*parts):
    return hashlib.sha256(b"\0".join(p if isinstance(p, bytes) else p.encode() for p in parts)).hexdigest()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def local_headers(path, seen=None):
    """Returns the project's files that @path includes, also indirectly."""
    seen = {} if seen is None else seen
    for name in re.findall(rb'^#include "([^"]+)"', read(path), re.M):
        for folder in ("", os.path.dirname(path), "tests/i915"):
            header = os.path.join(folder, name.decode())
            if os.path.exists(header) and header not in seen:
                seen[header] = read(header)
                local_headers(header, seen)
    return seen


def digest_with_headers(path):
    headers = local_headers(path)
    return digest(read(path), *(headers[name] for name in sorted(headers)))


class Test:
    def __init__(self, source):
        self.source = source
        self.name = os.path.basename(source).removesuffix(".c")
        self.program = f"{B}/tests/{self.name}"
        self.digest = digest_with_headers(source)
        self.seconds = 0.0  # CPU time
        self.reached = set()  # (file, function)

    def run(self, folders, cpu_s=300, environment=None):
        """Returns "passed", "caught" or "timeout"."""
        paths = ":".join(os.path.abspath(f) for f in folders)
        process = subprocess.Popen(
            [self.program],
            env={**ENVIRONMENT, **(environment or {}), "LD_LIBRARY_PATH": paths},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        # CPU time, because the machine may be busy.
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
        try:
            status = process.wait(600)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "timeout"
        if status in (-signal.SIGXCPU, -signal.SIGKILL):
            return "timeout"
        return "passed" if status == 0 else "caught"

    def limit_s(self):
        return 2 + int(10 * self.seconds)


def source_files():
    files = sorted(f for folder in SOURCES for f in glob.glob(f"{folder}/**/*.c", recursive=True))
    chosen = os.environ.get("MUTATE_FILES", "").split()
    wrong = [f for f in chosen if f not in files]
    if wrong:
        fail(f"MUTATE_FILES: {wrong[0]}: no such file in {' or '.join(SOURCES)}")
    return files, chosen or files


def build(files):
    """Builds each file as a library, plain and with coverage, and the tests that use the libraries."""
    for folder in ("lib", "coverage", "mutant"):
        shutil.rmtree(f"{B}/{folder}", ignore_errors=True)
        os.makedirs(f"{B}/{folder}")
    for path in files:
        # gcov finds its notes beside the object file.
        stem = f"{B}/coverage/{library_of(path).removesuffix('.so')}"
        compiling = [CC, *INCLUDES, "-w", "-fPIC", "--coverage", "-c", "-o", f"{stem}.o", path]
        linking = [CC, "--coverage", "-shared", f"-Wl,-soname,{library_of(path)}", "-o", f"{stem}.so", f"{stem}.o"]
        if not compile_library(read(path), path, f"{B}/lib/{library_of(path)}", ["-O1", *SANITIZE]) or any(
            subprocess.run(command).returncode != 0 for command in (compiling, linking)
        ):
            fail(f"{path} does not compile")
    sources = sorted(t for pattern in TESTS for t in glob.glob(pattern, recursive=True))
    tests = [t for t in map(Test, sources) if t.name not in SLOW]
    # Linked before the archive, so that the programs take these files from the libraries.
    libraries = " ".join(f"{B}/lib/{library_of(f)}" for f in files)
    command = ["make", "--no-print-directory", f"-j{os.cpu_count()}", f"B={B}", f"CC={CC}", "CFLAGS=-O1 -g"]
    command += [f"SANITIZE={' '.join(SANITIZE)}", f"LDFLAGS=-Wl,--no-as-needed {libraries}"]
    command += [t.program for t in tests]
    with open(f"{B}/build.log", "wb") as log:
        if subprocess.run(command, stdout=log, stderr=log).returncode != 0:
            fail(f"the tests do not build: see {B}/build.log")
    return tests


def measure(tests):
    """Measures the CPU time of each test, and which functions it executes."""
    for test in tests:
        begun = resource.getrusage(resource.RUSAGE_CHILDREN)
        if test.run([f"{B}/lib"]) != "passed":
            fail(f"{test.name} fails without a change")
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        test.seconds = ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime
        counters = os.path.abspath(f"{B}/counters/{test.name}")
        shutil.rmtree(counters, ignore_errors=True)
        test.run([f"{B}/coverage"], environment={"GCOV_PREFIX": counters})
        test.reached = reached_functions(counters)
    tests.sort(key=lambda t: t.seconds)


def reached_functions(counters):
    reached = set()
    for data in glob.glob(f"{counters}/**/*.gcda", recursive=True):
        shutil.copy(f"{B}/coverage/{os.path.basename(data).removesuffix('.gcda')}.gcno", os.path.dirname(data))
        output = subprocess.run(["gcov", "--json-format", "--stdout", data], capture_output=True).stdout
        for file in json.loads(output)["files"]:
            for function in file["functions"]:
                if function["execution_count"] > 0:
                    reached.add((file["file"], function["name"]))
    return reached


def tests_for(mutant, tests):
    if mutant.function == "-":
        return [t for t in tests if any(path == mutant.path for path, _ in t.reached)]
    return [t for t in tests if (mutant.path, mutant.function) in t.reached]


def is_same_code(mutant):
    """True if the change does not change the machine code with optimisation."""
    objects = []
    for text in (mutant.source, mutant.changed()):
        command = [CC, *INCLUDES, "-w", "-O2", "-c", "-o", f"{B}/mutant/same.o", "-xc", "-"]
        if subprocess.run(command, input=text, stderr=subprocess.DEVNULL).returncode != 0:
            return False
        objects.append(read(f"{B}/mutant/same.o"))
    return objects[0] == objects[1]


def try_mutant(mutant, tests, recent, passed):
    """Returns the result and the test that failed. The names of tests that passed are added to @passed."""
    library = f"{B}/mutant/{library_of(mutant.path)}"
    if not compile_library(mutant.changed(), mutant.path, library, ["-O1", *SANITIZE]):
        return "invalid", None
    try:
        for test in sorted(tests, key=lambda t: (t.name != recent.get(mutant.function), t.seconds)):
            if test.name in passed:
                continue
            result = test.run([f"{B}/mutant", f"{B}/lib"], test.limit_s())
            if result != "passed":
                recent[mutant.function] = test.name
                return result, test
            passed.append(test.name)
    finally:
        os.remove(library)
    return ("same" if is_same_code(mutant) else "survived"), None


class Cache:
    """The results of earlier runs: {mutant: {"result", "failed": {test: digest}, "passed": {test: digest}}}. A result
    is valid while the tests have the same digest."""

    def __init__(self):
        self.path = f"{B}/cache.json"
        try:
            with open(self.path) as file:
                self.results = json.load(file)
        except (OSError, ValueError):
            self.results = {}
        self.saved = time.monotonic()

    @staticmethod
    def key(mutant, headers):
        return digest(mutant.path, mutant.changed(), headers)

    def find(self, key, tests):
        """Returns the result, or None if a test must run, and the names of the tests that need not run."""
        entry = self.results.get(key)
        if not entry:
            return None, []
        digests = {t.name: t.digest for t in tests}
        passed = [name for name, known in entry["passed"].items() if digests.get(name) == known]
        if any(digests.get(name) == known for name, known in entry["failed"].items()):
            return entry["result"], passed
        if not entry["failed"] and len(passed) == len(tests):
            return entry["result"], passed
        return None, passed

    def add(self, key, result, failed, passed, tests):
        digests = {t.name: t.digest for t in tests}
        self.results[key] = {
            "result": result,
            "failed": {failed.name: failed.digest} if failed else {},
            "passed": {name: digests[name] for name in passed},
        }
        if time.monotonic() - self.saved > 10:
            self.save()

    def save(self):
        with open(self.path + ".new", "w") as file:
            json.dump(self.results, file)
        os.replace(self.path + ".new", self.path)
        self.saved = time.monotonic()


def read_equivalents():
    """Returns {name of a mutant: reason}. A reason is an indented line that applies to all names directly above it."""
    reasons, names = {}, []
    with open(EQUIVALENT) as file:
        for number, line in enumerate(file, 1):
            if line.startswith("#") or not line.strip():
                continue
            if not line[0].isspace():
                if names and names[-1] in reasons:
                    names = []
                names.append(line.strip())
            elif not names:
                fail(f"{EQUIVALENT}:{number}: a reason without a mutant")
            else:
                for name in names:
                    reasons[name] = (reasons.get(name, "") + " " + line.strip()).strip()
    if names and names[-1] not in reasons:
        fail(f"{EQUIVALENT}: {names[-1]}: no reason")
    return reasons


def check_equivalents(equivalents, population):
    """Every entry must name an existing mutant, so that the list follows the source."""
    names = {m.name() for m in population}
    stale = [name for name in equivalents if name not in names]
    for name in stale:
        print(f"mutate: {EQUIVALENT}: no such mutant in the source: {name}")
    if stale:
        fail(f"{len(stale)} entries to correct or remove")


def choose(population):
    """All mutants, or a random sample of MUTATE_N that depends on SEED only."""
    n = int(os.environ.get("MUTATE_N") or 0)
    if n <= 0 or n >= len(population):
        return population
    picked = random.Random(int(os.environ.get("SEED") or 1)).sample(range(len(population)), n)
    return [population[i] for i in sorted(picked)]


def try_all(chosen, tests, cache):
    results = {}
    recent = collections.defaultdict(dict)
    headers = {}
    begun = told = time.monotonic()
    for number, mutant in enumerate(chosen, 1):
        path = mutant.path
        if path not in headers:
            included = local_headers(path)
            headers[path] = digest(*(included[name] for name in sorted(included)))
        reaching = tests_for(mutant, tests)
        key = cache.key(mutant, headers[path])
        result, passed = cache.find(key, reaching)
        if not result:
            result, failed = try_mutant(mutant, reaching, recent[path], passed)
            cache.add(key, result, failed, passed, reaching)
        results[mutant] = result
        if time.monotonic() - told > 60:
            told = time.monotonic()
            print(f"mutate: {number} of {len(chosen)} mutants, {told - begun:.0f} s", flush=True)
    # A test that fails by itself would catch every mutant.
    for test in tests:
        if test.run([f"{B}/lib"]) != "passed":
            os.remove(cache.path)
            fail(f"{test.name} fails without a change: the results are wrong")
    cache.save()
    return results


def report(results, equivalents):
    """Prints the table and the survivors. Returns the percentage caught."""
    rows = {}
    survivors = []
    wrong = [m for m, result in results.items() if m.name() in equivalents and result in ("caught", "timeout")]
    for mutant, result in results.items():
        if result == "same" or (result == "survived" and mutant.name() in equivalents):
            result = "equivalent"
        if result == "survived":
            survivors.append(mutant)
        rows.setdefault(mutant.path, collections.Counter())[result] += 1
    total = sum(rows.values(), collections.Counter())
    heads = ("mutants", "caught", "timeout", "survived", "equivalent", "caught %")
    lines = [f"{'file':36}" + "".join(f" {head:>10}" for head in heads)]
    lines += [row_of(path, count) for path, count in sorted(rows.items())] + [row_of("total", total)]
    lines += ["", "survivors:"] if survivors else []
    lines += [m.name().replace(" ", f":{m.line} ", 1) for m in survivors]
    with open(f"{B}/report.txt", "w") as file:
        file.write("\n".join(lines) + "\n")
    print("\n".join(lines))
    for mutant in wrong:
        print(f"mutate: {EQUIVALENT}: a test catches this mutant: {mutant.name()}")
    return 0 if wrong else caught_pct(total)


def caught_pct(count):
    decided = count["caught"] + count["timeout"] + count["survived"]
    return 100 * (decided - count["survived"]) / decided if decided else 100


def row_of(path, count):
    numbers = (sum(count.values()) - count["invalid"], count["caught"] + count["timeout"])
    numbers += (count["timeout"], count["survived"], count["equivalent"])
    return f"{path:36}" + "".join(f" {number:10}" for number in numbers) + f" {caught_pct(count):10.1f}"


def main():
    os.makedirs(B, exist_ok=True)
    files, chosen_files = source_files()
    population = [m for f in files for m in mutants.mutants_of(f, INCLUDES)]
    equivalents = read_equivalents()
    check_equivalents(equivalents, population)
    chosen = choose([m for m in population if m.path in chosen_files])
    tests = build(files)
    measure(tests)
    print(f"mutate: {len(chosen)} of {len(population)} mutants, {len(tests)} test programs", flush=True)
    percent = report(try_all(chosen, tests, Cache()), equivalents)
    if percent < REQUIRED_PCT:
        fail(f"{percent:.1f} % caught, required {REQUIRED_PCT} %")


main()
