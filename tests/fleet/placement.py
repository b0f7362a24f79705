# Runs OpenStack's Placement on MariaDB in a private folder, without authentication, and makes the providers of compute nodes
# as nova-compute would do. Nothing outside the folder is written, and only Placement has a port, on 127.0.0.1.
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PYTHON = "/usr/bin/python3"  # Debian's: another python3 in PATH does not have Debian's modules
SCRIPT = "/usr/bin/placement-api"
NEEDED = [SCRIPT, "/usr/bin/placement-manage", "/usr/sbin/mariadbd", "/usr/bin/mariadb-install-db", "/usr/bin/mariadb",
          "/usr/bin/uwsgi-core", "/usr/lib/uwsgi/plugins/python3_plugin.so"]
VERSION = "placement 1.36"
# Placement 8.0.0 allocates more than the total with the default of MariaDB, REPEATABLE-READ: after a conflict, it reads the new
# generation outside its transaction, but the usage in the old snapshot of the transaction (placement/objects/allocation.py).
ISOLATION, UNSAFE_ISOLATION = "READ-COMMITTED", "REPEATABLE-READ"


def missing():
    """Returns the first program that is not installed, or None."""
    return next((path for path in NEEDED if not os.path.exists(path)), None)


def root_uuid(number, epoch=0):
    return f"{epoch:08x}-0000-4000-8000-{number:012x}"


def wait_until(condition, limit_s, what):
    until = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > until:
            raise RuntimeError(f"{what}: not after {limit_s} s")
        time.sleep(0.02)


def group_exists(number):
    try:
        os.killpg(number, 0)
        return True
    except ProcessLookupError:
        return False


class Placement:
    def __init__(self, processes=2):
        self.folder = tempfile.mkdtemp(prefix="gover-fleet.")
        self.processes, self.server, self.database = processes, None, None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = open(os.path.join(self.folder, "log"), "ab")  # pylint: disable=consider-using-with

    def path(self, name):
        return os.path.join(self.folder, name)

    # --- the database ---

    def start_database(self):
        as_root = ["--user=root"] if os.geteuid() == 0 else []
        subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={self.path('data')}", "--skip-test-db",
                        "--auth-root-authentication-method=normal", *as_root], stdout=self.log, stderr=self.log, check=True)
        # the socket is in a folder that only this user can enter, so that no password is needed
        self.database = subprocess.Popen(
            ["/usr/sbin/mariadbd", "--no-defaults", f"--datadir={self.path('data')}", f"--socket={self.path('s')}",
             "--skip-grant-tables", "--skip-networking", f"--pid-file={self.path('pid')}", "--innodb-buffer-pool-size=64M",
             "--innodb-flush-log-at-trx-commit=2", "--performance-schema=off", f"--transaction-isolation={ISOLATION}", *as_root],
            stdout=self.log, stderr=self.log, preexec_fn=os.setpgrp)
        wait_until(lambda: self.try_sql("select 1"), 60, "MariaDB")
        self.sql("create database placement character set utf8", "")
        with open(self.path("placement.conf"), "w", encoding="utf-8") as file:
            # a line per request would cost as much as some requests
            file.write("[DEFAULT]\ndefault_log_levels = placement=WARN\n[api]\nauth_strategy = noauth2\n[placement_database]\nconnection = mysql+pymysql://root@localhost/"
                       f"placement?unix_socket={self.path('s')}&charset=utf8\n")
        subprocess.run([PYTHON, "/usr/bin/placement-manage", "--config-file", self.path("placement.conf"), "db", "sync"],
                       stdout=self.log, stderr=self.log, check=True)

    def sql(self, text, database="placement"):
        """Returns the rows of a query as lists of texts."""
        done = subprocess.run(["mariadb", "--no-defaults", f"--socket={self.path('s')}", "-N", "-B", "-e", text, database],
                              stdout=subprocess.PIPE, stderr=self.log, check=True, text=True)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def try_sql(self, text):
        try:
            return self.sql(text, "")
        except subprocess.CalledProcessError:
            return None

    def set_isolation(self, isolation):
        """Changes the isolation of transactions, and starts Placement again, so that it has new connections."""
        self.sql(f"set global tx_isolation = '{isolation}'")
        self.kill()
        self.start()

    def make_roots(self, number, epoch=0):
        """Makes the providers host-0000, host-0001, ... in one statement."""
        rows = ", ".join(f"('{root_uuid(i, epoch)}', 'host-{i:04}', 0, now())" for i in range(number))
        self.sql(f"insert into resource_providers (uuid, name, generation, created_at) values {rows}; "
                 "update resource_providers set root_provider_id = id where root_provider_id is null")

    # --- Placement ---

    def start(self):
        """Returns when Placement has answered a request."""
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": self.folder,
                       "OS_PLACEMENT_CONFIG_DIR": self.folder}
        # without "Connection: close", uwsgi keeps a worker busy with an idle connection
        self.server = subprocess.Popen(
            ["/usr/bin/uwsgi-core", "--plugin", "/usr/lib/uwsgi/plugins/python3_plugin.so", "--master", "--no-orphans",
             "--die-on-term", "--enable-threads", "--lazy-apps", "--buffer-size", "65535", "--processes", str(self.processes),
             "--add-header", "Connection: close", "--disable-logging", "--http-socket", f"127.0.0.1:{self.port}",
             "--listen", "128", "--wsgi-file", SCRIPT],
            stdout=self.log, stderr=self.log, env=environment, preexec_fn=os.setpgrp)
        wait_until(lambda: self.status("GET", "/") == 200, 60, "Placement")

    def kill(self):
        """Kills Placement with all its processes, as a crash of its machine would do."""
        os.killpg(self.server.pid, signal.SIGKILL)
        self.server.wait()
        wait_until(lambda: not group_exists(self.server.pid), 30, "end of Placement")  # the port is free after the last one

    def kill_worker(self, choose):
        """Kills one worker; the master starts another. Returns false if no worker runs."""
        with open(f"/proc/{self.server.pid}/task/{self.server.pid}/children", encoding="ascii") as file:
            children = file.read().split()
        if not children:
            return False
        os.kill(int(choose(children)), signal.SIGKILL)
        return True

    def call(self, method, path, body=None, timeout_s=30):
        """Returns status and JSON, or raises OSError or http.client.HTTPException without a complete answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        try:
            connection.request(method, path, None if body is None else json.dumps(body),
                               {"X-Auth-Token": "admin", "OpenStack-API-Version": VERSION, "Content-Type": "application/json"})
            reply = connection.getresponse()
            text = reply.read()
            return reply.status, json.loads(text) if text else None
        finally:
            connection.close()

    def status(self, method, path, body=None):
        try:
            return self.call(method, path, body)[0]
        except (OSError, http.client.HTTPException, ValueError):
            return None

    def delete_tree(self, host):
        """Deletes the provider of a compute node as Nova does for DELETE /os-services: allocations first, then children."""
        rows = self.sql("select c.uuid, coalesce(group_concat(a.consumer_id), '') from resource_providers c left join allocations a "
                        f"on a.resource_provider_id = c.id where c.name like 'host-{host:04}%' group by c.id order by c.id desc")
        for number, consumers in rows:
            for consumer in consumers.split(",") if consumers else []:
                self.call("DELETE", f"/allocations/{consumer}")
            self.call("DELETE", f"/resource_providers/{number}")

    def close(self):
        for process in (self.server, self.database):
            if process and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
