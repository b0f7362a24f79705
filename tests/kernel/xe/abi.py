#!/usr/bin/env python3
"""Compares the folder sriov_admin of a stand-in with the kernel's own ABI document.

abi.py DOCUMENT ROOT PF [FOLDER...]: ROOT is /sys or a mounted gover-sim, PF the PCI address of a GPU whose VFs are disabled.
A FOLDER is allowed although the document does not contain it. Prints a line "ok TEXT" or "not ok TEXT" for each rule.
"""

import errno
import os
import re
import stat
import sys

MODES = {"RW": {0o644}, "WO": {0o200}, "RO": {0o444}, "RW/RO": {0o644, 0o444}}
# Limits that the document does not contain: drivers/gpu/drm/xe/xe_gt_sriov_pf_config.c, 0131514f9789.
LIMITS = {"exec_quantum_ms": 100000, "preempt_timeout_us": 100000000}
ENABLED = 2  # VFs


class Attribute:
    """What a block of the document says about one file."""

    def __init__(self, name, access, kind, text):
        self.name = name
        self.access = access
        self.kind = kind
        found = re.search(r'Default is "?(\w+)"?', text)
        self.default = found and found.group(1)
        self.choices = re.findall(r'^\t*"(\w+)" - ', text, re.M)


def parse(path):
    """Returns [(path, Attribute or None for folders and links, errors of reads, errors of writes)]."""
    rows = []
    for block in re.split(r"\n\n(?=What:)", open(path, encoding="utf-8").read()):
        whats = re.findall(r"^What:\s+(\S+)$", block, re.M)
        text = block.split("Description:", 1)[1]
        reads = text.split("Reads from")[1] if "Reads from" in text else ""
        writes = text.split("Writes to")[1].split("Reads from")[0] if "Writes to" in text else ""
        parts = re.split(r"^\t\t([\w./]+): \(([A-Z/]+)\) (.+)$", text, flags=re.M)
        attributes = {}
        for i in range(1, len(parts), 4):
            name = parts[i]
            attributes[name] = Attribute(name, parts[i + 1], parts[i + 2], parts[i + 3])
        for what in whats:
            matches = [a for name, a in attributes.items() if what.endswith("/" + name)]
            rows.append((what, matches[0] if matches else None, re.findall(r"-(E\w+)", reads), re.findall(r"-(E\w+)", writes)))
    return rows


def read(path):
    """Returns the text, or the name of the error."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        return errno.errorcode[error.errno]


def write(path, text):
    """Returns "" or the name of the error."""
    try:
        fd = os.open(path, os.O_WRONLY)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)
        return ""
    except OSError as error:
        return errno.errorcode[error.errno]


class Check:
    def __init__(self, document, root, pf, extra):
        self.rows = parse(document)
        self.pf = f"{root}/bus/pci/devices/{pf}"
        self.admin = f"{root}/bus/pci/drivers/xe/{pf}/sriov_admin"
        self.address = pf
        self.extra = extra
        self.total = int(read(f"{self.pf}/sriov_totalvfs"))
        self.complaints = []

    def expect(self, where, got, wanted):
        if got != wanted:
            self.complaints.append(f"{where}: {got!r}, not {wanted!r}")

    def result(self, text):
        print(("not ok " if self.complaints else "ok ") + text)
        for complaint in self.complaints[:12]:
            print("#", complaint)
        self.complaints = []

    def expand(self, what):
        """Returns [(path, number of the function or None)] for one "What" of the document."""
        name = what.split("/sriov_admin/", 1)[1].rstrip("/")
        if "vf<" not in name:
            found = re.match(r"(pf|vf(\d+))(/|$)", name)
            return [(f"{self.admin}/{name}".rstrip("/"), int(found.group(2) or 0) if found else None)]
        return [(f"{self.admin}/" + re.sub("vf<[nN]>", f"vf{i}", name), i) for i in range(1, self.total + 1)]

    def files(self, with_memory=False):
        for what, attribute, reads, writes in self.rows:
            if attribute and (with_memory or "vram" not in attribute.name):
                for path, function in self.expand(what):
                    yield path, function, attribute, reads, writes

    def profiles(self):
        """The pairs of a file and its attribute that are readable."""
        return [row for row in self.files() if row[2].access != "WO"]

    # --- rules ---

    def existence(self):
        known = {self.admin}
        for what, attribute, _, _ in self.rows:
            for path, _ in self.expand(what):
                known.update((path, os.path.dirname(path)))
                if attribute and "vram" in attribute.name:
                    self.expect(path, os.path.exists(path), False)
                elif not what.endswith("/device"):
                    wanted = stat.S_ISREG if attribute else stat.S_ISDIR
                    self.expect(path, os.path.exists(path) and wanted(os.stat(path).st_mode), True)
        self.result("every path of the document exists; vram_quota does not, as without memory of its own")
        for folder, folders, names in os.walk(self.admin):
            folders[:] = [name for name in folders if name not in self.extra and not os.path.islink(f"{folder}/{name}")]
            for name in folders + names:
                self.expect(f"{folder}/{name} is in the document", f"{folder}/{name}" in known, True)
        self.result("every path is in the document" + "".join(f", except the folders {name}" for name in self.extra))
        self.expect("VFs", sum(name.startswith("vf") for name in os.listdir(self.admin)), self.total)
        self.result("there are as many folders of VFs as sriov_totalvfs")

    def permissions(self):
        for path, function, attribute, _, _ in self.files():
            mode = stat.S_IMODE(os.stat(path).st_mode)
            if mode not in MODES[attribute.access]:
                self.complaints.append(f"{path}: mode {mode:o}, not {attribute.access}")
            if attribute.access == "RW/RO":  # the firmware changes only the PF's alone
                self.expect(path, mode, 0o644 if function == 0 else 0o444)
            if not mode & 0o444:
                self.expect(f"reading {path}", read(path), "EACCES")
            if not mode & 0o222:
                self.expect(f"writing {path}", write(path, "low"), "EACCES")
        self.result("permissions are those of the document, also for root")

    def shown(self, attribute, function, value):
        if not attribute.choices:
            return value + "\n"
        choices = attribute.choices if function == 0 else [c for c in attribute.choices if c != "high"]
        return " ".join(f"[{c}]" if c == value else c for c in choices) + "\n"

    def defaults(self, text):
        for path, function, attribute, _, _ in self.profiles():
            self.expect(path, read(path), self.shown(attribute, function, attribute.default))
        self.result(text)

    def numbers(self):
        for path, _, attribute, _, _ in self.files():
            if attribute.kind != "unsigned integer":
                continue
            readable = attribute.access == "RW"
            for text in ("x", "-1", "1 2", "1.5", "0x"):
                self.expect(f"{text!r} to {path}", write(path, text), "EINVAL")
            self.expect(f"2^32 to {path}", write(path, "4294967296"), "ERANGE")
            limit = LIMITS[attribute.name]
            for text, value in (("7\n", 7), ("0x10", 16), ("010", 8), (str(limit), limit), (str(limit + 1), limit), ("0", 0)):
                self.expect(f"{text!r} to {path}", write(path, text), "")
                if readable:
                    self.expect(f"{path} after {text!r}", read(path), f"{value}\n")
        self.result("numbers are parsed and limited as by the driver; malformed ones give EINVAL")

    def words(self):
        for path, function, attribute, _, _ in self.files():
            if attribute.name != "sched_priority" or not os.stat(path).st_mode & 0o200:
                continue
            for text in ("urgent", "lo", "low normal", "[low]", "LOW"):
                self.expect(f"{text!r} to {path}", write(path, text), "EINVAL")
            choices = next(a.choices for _, _, a, _, _ in self.files() if a.choices)
            bulk = function is None
            for word in choices + ["low"]:
                wanted = "EINVAL" if bulk and word == "high" else ""
                self.expect(f"{word!r} to {path}", write(path, word + "\n"), wanted)
                if not bulk:
                    self.expect(path, read(path), self.shown(attribute, function, word))
        self.result("priorities are the words of the document; high is only for the PF")

    def bulk(self):
        for name, value in (("exec_quantum_ms", "12"), ("preempt_timeout_us", "3400"), ("sched_priority", "normal")):
            self.expect(name, write(f"{self.admin}/.bulk_profile/{name}", value), "")
            for path, function, attribute, _, _ in self.profiles():
                if attribute.name == name:
                    self.expect(path, read(path), self.shown(attribute, function, value))
        self.result(".bulk_profile changes all functions")

    def stop(self):
        for path, _, attribute, _, writes in self.files():
            if attribute.kind == "bool":
                self.expect(f"x to {path}", write(path, "x"), writes[0])
                self.expect(f"0 to {path}", write(path, "0"), "")
        self.result("stop takes a boolean")

    def errors(self):
        fault = f"{self.pf}/gover_sim/fault"
        for name in ("EINVAL", "EPERM", "EIO", "EUCLEAN"):
            self.expect(name, write(fault, name), "")
            for path, _, attribute, reads, writes in self.files():
                value = {"string": "low", "unsigned integer": "0"}.get(attribute.kind)
                if value and os.stat(path).st_mode & 0o200:
                    self.expect(f"write {path}", write(path, value), name if name in writes else "")
                if attribute.access != "WO" and (name in reads or read(path) == name):
                    self.expect(f"read {path}", (read(path), name in reads), (name, True))
        self.expect("none", write(fault, "none"), "")
        self.result("each error of the document can occur where the document says so")

    def links(self):
        for what, _, _, _ in self.rows:
            if not what.endswith("/device"):
                continue
            for path, function in self.expand(what):
                present = function <= ENABLED
                self.expect(f"{path} exists", os.path.lexists(path), present)
                if present:
                    wanted = self.pf if function == 0 else f"{self.pf}/virtfn{function - 1}"
                    self.expect(path, os.path.realpath(path), os.path.realpath(wanted))
                    self.expect(f"{path} is a link", os.path.islink(path), True)
        self.result("device is a link to the PF and to enabled VFs; VF 1 is virtfn0")

    def run(self):
        self.existence()
        self.permissions()
        self.defaults("defaults are those of the document")
        self.numbers()
        self.words()
        self.stop()
        self.errors()
        self.expect("sriov_numvfs", write(f"{self.pf}/sriov_numvfs", str(ENABLED)), "")
        self.links()
        self.bulk()
        self.expect("sriov_numvfs", write(f"{self.pf}/sriov_numvfs", "0"), "")
        self.defaults("the settings of all functions are the defaults again after the VFs are disabled")


Check(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]).run()
