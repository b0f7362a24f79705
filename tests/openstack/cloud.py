# SPDX-License-Identifier: MIT
# The processes of the cloud: the services of the controller, and the hosts with their services. Each one writes its output to a
# file of its name. They need no clean-up: all of them end with the namespaces of the test (tests/openstack/world).
import datetime
import os
import re
import signal
import socket
import subprocess
import threading
import time

import api

ENVIRONMENT = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8", "PYTHONWARNINGS=ignore"]
UWSGI = ["uwsgi", "--plugin", "python3", "--master", "--die-on-term", "--lazy-apps", "--enable-threads", "--need-app", "--buffer-size", "65535", "--processes",
         "2", "--disable-logging", "--add-header", "Connection: close"]
RABBIT = ["su", "rabbitmq", "-s", "/bin/sh", "-c",
          "ERL_EPMD_ADDRESS=127.0.0.1 RABBITMQ_NODENAME=rabbit@localhost HOME=/var/lib/rabbitmq RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="
          "'+S 1:1 +sbwt none -kernel inet_dist_use_interface {127,0,0,1}' exec /usr/lib/rabbitmq/bin/rabbitmq-server"]
NOVA = ["--config-file", "/etc/nova/nova.conf"]
READY_S = 300
STOP_S = 30


class Failed(Exception):
    """A part of the cloud did not become ready, or ended."""


def until(condition, seconds, what, every_s=0.05):
    """Waits for a condition, and returns its value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed(f"{what}: not within {seconds} s")
        time.sleep(every_s)


def is_open(port, address="127.0.0.1"):
    with socket.socket() as one:
        one.settimeout(1)
        return one.connect_ex((address, port)) == 0


class Service:
    """A process of the cloud that can be stopped and started again."""

    def __init__(self, name, command, log):
        self.name, self.command, self.log, self.process = name, command, log, None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        return self

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def is_running(self):
        return self.process is not None and self.process.poll() is None


class Place:
    """The controller, or a host: where commands run, and its services by name."""

    def __init__(self, name, enter, logs):
        self.name, self.enter, self.logs, self.services = name, enter, logs, {}

    def command(self, *arguments):
        return [*self.enter, *ENVIRONMENT, *arguments]

    def run(self, *arguments, timeout=60, data=None):
        """Runs a command to its end. Returns its output."""
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=timeout, input=data)
        if done.returncode:
            raise Failed(f"{self.name}: {' '.join(arguments)}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def start(self, name, *arguments):
        log = os.path.join(self.logs, f"{name}.log" if self.name == "controller" else f"{self.name}-{name}.log")
        self.services[name] = Service(name, self.command(*arguments), log).start()
        return self.services[name]

    def wait(self, condition, what):
        """Waits for a condition that needs the services of the place."""
        def reached():
            ended = [name for name, service in self.services.items() if not service.is_running()]
            if ended:
                raise Failed(f"{self.name}: ended: {', '.join(ended)} (see {self.logs})")
            return condition()

        return until(reached, READY_S, what)


class Events:
    """The events of libvirt on a host: (time, domain, text), as virsh prints them."""

    LINE = re.compile(r"^(\S+ \S+): event 'lifecycle' for domain '([^']+)': (.*)$")

    def __init__(self, host):
        self.rows = []
        self.process = subprocess.Popen(host.command("virsh", "-q", "event", "--event", "lifecycle", "--loop", "--timestamp"),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            found = self.LINE.match(line.strip())
            if found:
                self.rows.append((clock(found.group(1)), found.group(2), found.group(3)))

    def is_running(self, domain):
        """True if the guest executes on this host; during a migration, the destination's is paused."""
        states = [row[2] for row in self.rows if row[1] == domain and row[2].startswith(("Started", "Resumed", "Suspended", "Stopped"))]
        return bool(states) and states[-1].startswith(("Resumed", "Started Booted"))

    def first(self, domain, text, after=0.0):
        return next((row[0] for row in self.rows if row[1] == domain and row[2].startswith(text) and row[0] >= after), None)


def clock(text):
    """Seconds since 1970 of a time such as 2026-11-27 03:45:11.123+0000."""
    return datetime.datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f%z").timestamp()


class Host(Place):
    """A compute host with its own name, folders, libvirtd and nova-compute."""

    def __init__(self, root, logs, number):
        self.number = number
        name = f"host{number}"
        anchor = subprocess.Popen(["unshare", "-m", "-u", "--propagation", "private", "chroot", root, *ENVIRONMENT, "/etc/cloud/host", name, str(number)])
        until(lambda: os.path.exists(os.path.join(root, "srv/host", name, "ready")), READY_S, name)
        self.pid = anchor.pid
        super().__init__(name, ["nsenter", "-t", str(anchor.pid), "-m", "-u", "-r", "-w"], logs)
        self.events = None

    def path(self, inside):
        """The path of a file of the host for programs outside of its namespaces."""
        return f"/proc/{self.pid}/root{inside}"

    def start_libvirt(self):
        self.start("libvirtd", "libvirtd", "--listen")
        self.wait(lambda: os.path.exists(self.path("/run/libvirt/libvirt-sock")), f"libvirtd of {self.name}")
        self.events = Events(self)

    def start_compute(self):
        return self.start("nova-compute", "nova-compute", *NOVA, "--config-file", "/etc/nova/host.conf")

    def domains(self):
        return {line.strip() for line in self.run("virsh", "-q", "list", "--uuid").splitlines() if line.strip()}


class Cloud:
    """The controller with its services, and the hosts."""

    def __init__(self, root, logs, hosts):
        self.controller = Place("controller", ["chroot", root], logs)
        self.root, self.logs = root, logs
        self.hosts = [Host(root, logs, number) for number in range(1, hosts + 1)]

    def start_controller(self, log):
        """Starts the databases, Keystone and Placement, and fills the catalogue."""
        start = self.controller.start
        self.controller.run("install", "-d", "-o", "mysql", "/run/mysqld")
        start("mariadb", "mariadbd", "--defaults-file=/etc/cloud/mariadb.cnf")
        start("rabbitmq", *RABBIT)
        start("stub", "/etc/cloud/stub.py")
        self.wait_port("MariaDB", 3306, log)
        start("keystone", *UWSGI, "--http-socket", "127.0.0.1:5000", "--wsgi-file", "/usr/bin/keystone-wsgi-public")
        start("placement", *UWSGI, "--http-socket", "127.0.0.1:8778", "--wsgi-file", "/usr/bin/placement-api")
        self.controller.wait(lambda: is_open(5000), "Keystone")
        admin = api.Session()
        for service in api.CATALOGUE:
            admin.register(*service)
        log("Keystone answers")

    def start_nova(self):
        """Starts libvirt and all parts of Nova; they wait for RabbitMQ and for each other."""
        for part in ("conductor", "scheduler", "api"):
            self.controller.start(f"nova-{part}", f"nova-{part}", *NOVA, "--config-file", "/etc/nova/nova-controller.conf")
        for host in self.hosts:
            host.start_libvirt()
            host.start_compute()

    def wait_port(self, name, port, log):
        self.controller.wait(lambda: is_open(port), name)
        log(f"{name} answers")

    def search_log(self, name, pattern):
        """The matches of a pattern in the log of a service of the controller."""
        with open(os.path.join(self.logs, name), encoding="utf-8", errors="replace") as log:
            return [one for one in map(re.compile(pattern).match, log) if one]

    def asked_to_migrate(self, servers):
        """The first of the servers for which Nova's API accepted an action, the time, and the seconds that Nova needed for its answer."""
        pattern = r'^(\S+ \S+) .*"POST /v2.1/servers/([^/]+)/action HTTP/1.1" status: 202.* time: ([0-9.]+)'
        found = next((one for one in self.search_log("nova-api.log", pattern) if one.group(2) in servers), None)
        return found and (found.group(2), clock(found.group(1) + "+0000"), float(found.group(3)))

    def answered(self, request, after):
        """The time at which Placement answered a request with success, from its log."""
        pattern = r'^(\S+ \S+) .*"' + request + '[^"]*" status: 200'
        times = [clock(one.group(1) + "+0000") for one in self.search_log("placement.log", pattern)]
        return next((one for one in times if one >= after), None)
