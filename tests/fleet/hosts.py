# Runs build/tests/fleet-hosts, the program that publishes for simulated hosts, and collects its results.
import json
import os
import subprocess
import threading
import time

SLOT = "CUSTOM_GOVER_SLOT_"


class Hosts:
    """A process with `number` simulated hosts."""

    def __init__(self, url, number, threads=1, timeout_ms=5000, retry_max_ms=4000):
        program = os.path.join(os.environ.get("B", "build"), "tests", "fleet-hosts")
        self.number, self.version, self.results = number, 0, []
        self.arrived = threading.Condition()
        self.process = subprocess.Popen(
            [program, url, str(number), str(threads), str(timeout_ms), str(retry_max_ms)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            try:
                result = json.loads(line)
            except ValueError:
                continue  # the process was killed while it printed
            with self.arrived:
                self.results.append(result)
                self.arrived.notify_all()
        with self.arrived:
            self.arrived.notify_all()

    def send(self, command):
        """Sends a command and returns its version, for wait()."""
        self.version += 1
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.version

    def publish(self, first, last, wanted, span_ms=0, tries=0, show="-"):
        return self.send(f"publish {first} {last} {span_ms} {tries} {show} {wanted}")

    def wait(self, version, number, limit_s=120):
        """Returns the results of a command, fewer than `number` if the process ends or the limit is reached."""
        until = time.monotonic() + limit_s
        with self.arrived:
            while True:
                got = [result for result in self.results if result["version"] == version]
                left_s = until - time.monotonic()
                if len(got) >= number or left_s <= 0 or not self.reader.is_alive():
                    return got
                self.arrived.wait(min(left_s, 0.5))

    def run(self, command, number=1, limit_s=120):
        return self.wait(self.send(command), number, limit_s)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        """Lets the program end by itself. Returns its exit status."""
        self.process.stdin.close()
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
            return -1
