# SPDX-License-Identifier: MIT
# A host with the real programs: gover-d with a simulated GPU, gover-fleet, and a libvirtd with its test driver. The test driver calls no
# hook, so the test runs `gover-fleet --hook` before it starts a domain, as libvirt does with QEMU. All files are in one folder.
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
import rest  # noqa: E402

CLASS = "CUSTOM_GOVER_SLOT_DEFAULT"
READY_S = 60
# A hook that was not answered has ended after twice this time; only then its contract may end.
HOOK_S = 2
GOVER = """[daemon]
socket = {folder}/gover.sock
state_dir = {folder}/state
period_ms = 100
[gpu gpu0]
backend = sim
speed = 10
root = {folder}/poke
sharing = hard
[fps]
socket = {folder}/fps.sock
[policy]
fund_window_s = 2
[offer]
max_vgpus = 8
probation_s = 1
"""
FLEET = """[fleet]
host = {name}
gover_socket = {folder}/gover.sock
hook_socket = {folder}/hook.sock
hook_timeout_s = {hook_s}
on_failure = closed
status_file = {folder}/status.json
[cloud]
kind = openstack
auth = none
placement_url = {url}
{cloud}
[libvirt]
uri = {uri}
[migrate]
by = {by}
"""
LIBVIRT = """unix_sock_dir = "{folder}"
auth_unix_rw = "none"
auth_unix_ro = "none"
host_uuid = "00000000-0000-4000-8000-{number:012}"
"""
# libvirtd has folders that cannot be configured
NAMESPACE = """"$1" "$0" || exit
for folder in /run/libvirt /etc/libvirt /var/lib/libvirt /var/log/libvirt /var/cache/libvirt; do
mkdir -p "$folder" "$0/ns$folder" && mount --bind "$0/ns$folder" "$folder" || exit
done
exec libvirtd -f "$0/libvirtd.conf" -p "$0/libvirtd.pid" """
DOMAIN = """<domain type='test'><name>{name}</name><uuid>{uuid}</uuid><memory unit='MiB'>32</memory><os><type>hvm</type></os><metadata>
<nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'><nova:name>{name}</nova:name>
<nova:flavor name='g.default'>{specs}</nova:flavor><nova:owner><nova:project uuid='p'>shop</nova:project></nova:owner></nova:instance>
</metadata></domain>
"""
SPECS = f"<nova:extraSpecs><nova:extraSpec name='resources:{CLASS}'>1</nova:extraSpec></nova:extraSpecs>"


def missing():
    """Returns what the real programs need and this machine does not have, or None."""
    for program in ("libvirtd", "virsh", "unshare"):
        if not shutil.which(program):
            return program
    if not os.access(os.path.join(os.environ.get("B", "build"), "gover-fleet"), os.X_OK):
        return "gover-fleet"
    done = subprocess.run(["unshare", "-m", "--propagation", "private", "true"], stderr=subprocess.DEVNULL, check=False)
    return "a mount namespace" if done.returncode else None


def until(condition, limit_s, what):
    """Waits for a condition and returns its value. Raises RuntimeError after the limit."""
    end = time.monotonic() + limit_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: not after {limit_s} s")
        time.sleep(0.05)


class Machine:
    """`name` is that of the compute node in Placement. Without libvirt, no domain ends a contract."""

    def __init__(self, placement, number, libvirt=True, by="none", cloud=""):
        self.name, self.number, self.placement = f"machine-{number}", number, placement
        self.folder = placement.path(self.name)
        self.programs = {}  # by name; a program that was killed stays until it is started again
        os.makedirs(os.path.join(self.folder, "poke"))
        values = {"folder": self.folder, "name": self.name, "number": number, "url": placement.url, "cloud": cloud, "by": by,
                  "hook_s": HOOK_S, "uri": f"test+unix:///default?socket={self.path('libvirt-sock')}" if libvirt else ""}
        self.libvirt = libvirt
        for file, text in (("gover.conf", GOVER), ("fleet.conf", FLEET), ("libvirtd.conf", LIBVIRT)):
            with open(self.path(file), "w", encoding="utf-8") as out:
                out.write(text.format(**values))
        self.log = open(self.path("log"), "ab")  # pylint: disable=consider-using-with
        self.root = f"00000000-0000-4000-8000-1{number:011}"
        placement.call("POST", "/resource_providers", {"name": self.name, "uuid": self.root})

    def path(self, name):
        return os.path.join(self.folder, name)

    # --- programs ---

    def spawn(self, name, *command):
        self.programs[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def program(self, name):
        return os.path.join(os.environ.get("B", "build"), name)

    def start(self):
        if self.libvirt:
            self.start_libvirt()
        self.start_gover()
        self.start_fleet()

    def start_libvirt(self):
        self.spawn("libvirtd", "unshare", "-m", "--propagation", "private", "sh", "-c", NAMESPACE, self.folder,
                   os.path.join(os.path.dirname(os.path.abspath(__file__)), "libvirt-user"))
        until(lambda: os.path.exists(self.path("libvirt-sock")), READY_S, "libvirtd")
        # the test driver forgets its domains without a connection
        self.spawn("events", *self.virsh_command("event", "--loop", "--event", "lifecycle"))

    def start_gover(self):
        self.spawn("gover-d", self.program("gover-d"), "--config", self.path("gover.conf"))
        until(lambda: self.ask("GET", "/readyz") == 200, READY_S, f"gover-d of {self.name}")

    def start_fleet(self):
        self.spawn("gover-fleet", self.program("gover-fleet"), "--config", self.path("fleet.conf"))

    def kill(self, name, number=signal.SIGKILL):
        self.programs[name].send_signal(number)
        self.programs[name].wait()

    def withdraw(self):
        """As the unit of gover-fleet does after its end. Returns true on success."""
        return subprocess.run([self.program("gover-fleet"), "--config", self.path("fleet.conf"), "--withdraw"], stdout=self.log,
                              stderr=self.log, check=False).returncode == 0

    def close(self):
        for process in self.programs.values():
            if process.poll() is None:
                process.kill()
            process.wait()
        self.log.close()

    # --- gover-d ---

    def ask(self, method, path, body=None):
        """Returns the status, or None without an answer."""
        try:
            return rest.ask(self.path("gover.sock"), method, path, body).status
        except rest.NoAnswer:
            return None

    def get(self, path):
        """A document, or None without an answer."""
        try:
            answer = rest.ask(self.path("gover.sock"), "GET", path)
            return answer.json() if answer.status == 200 else None
        except (rest.NoAnswer, ValueError):
            return None

    def contracts(self):
        """The contracts that gover-fleet has made, by id."""
        found = self.get("/v1/vgpus") or {"vgpus": []}
        return {one["id"]: one for one in found["vgpus"] if (one.get("labels") or {}).get("fleet") == "libvirt"}

    def offers(self, state=None):
        found = self.get("/v1/offers?all=true") or {"offers": []}
        return [one for one in found["offers"] if state in (None, one["state"])]

    def sell(self, on):
        self.ask("PATCH", "/v1/gpus/gpu0", {"selling": "on" if on else "off"})
        if not on:
            for offer in self.offers("open"):
                self.ask("DELETE", f"/v1/offers/{offer['id']}")

    # --- libvirt ---

    def virsh_command(self, *arguments):
        return ["virsh", "-q", "-c", f"test+unix:///default?socket={self.path('libvirt-sock')}", *arguments]

    def virsh(self, *arguments):
        done = subprocess.run(self.virsh_command(*arguments), stdout=subprocess.PIPE, stderr=self.log, text=True, timeout=60, check=False)
        return done.stdout if done.returncode == 0 else None

    def domains(self):
        """The UUIDs of all domains of the test, or None. The test driver has one of its own."""
        listed = self.virsh("list", "--all", "--uuid", "--name")
        return None if listed is None else {line.split()[0] for line in listed.splitlines() if line.split() and line.split()[1] != "test"}

    def start_server(self, uuid, with_specs):
        """What libvirt does when Nova starts a server: the hook, then the domain. Returns true if it runs."""
        xml = DOMAIN.format(name=f"i-{uuid[:8]}", uuid=uuid, specs=SPECS if with_specs else "")
        hook = [self.program("gover-fleet"), "--config", self.path("fleet.conf"), "--hook", f"i-{uuid[:8]}", "prepare", "begin", "-"]
        if subprocess.run(hook, input=xml, text=True, stdout=self.log, stderr=self.log, check=False).returncode:
            return False
        path = self.path(f"{uuid}.xml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(xml)
        return self.virsh("create", path) is not None

    def end_server(self, uuid):
        """What libvirt does when Nova deletes a server."""
        self.virsh("destroy", uuid)

    # --- Placement ---

    def provider(self):
        """The UUID of the provider of the GPU, or None."""
        found = self.placement.call("GET", f"/resource_providers?name={self.name}_gover_gpu0")[1]["resource_providers"]
        return found[0]["uuid"] if found else None

    def slots(self):
        """(capacity, allocated slots, servers that have them) of the GPU in Placement."""
        provider = self.provider()
        if not provider:
            return 0, 0, set()
        one = self.placement.call("GET", f"/resource_providers/{provider}/inventories")[1]["inventories"].get(CLASS)
        used = self.placement.call("GET", f"/resource_providers/{provider}/usages")[1]["usages"].get(CLASS, 0)
        servers = self.placement.call("GET", f"/resource_providers/{provider}/allocations")[1]["allocations"]
        return (one["total"] - one["reserved"] if one else 0), used, set(servers)

    def traits(self):
        provider = self.provider()
        return self.placement.call("GET", f"/resource_providers/{provider}/traits")[1]["traits"] if provider else []
