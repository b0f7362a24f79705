# SPDX-License-Identifier: MIT
# Measures the shares of tenants of a compute device for some seconds:
#   measure.py [--discipline NAME] [--seconds S] [--depth N] WEIGHT[/CAP]:US...
# Each argument is a tenant of the device double that saturates it with kernels of US microseconds. Prints lines NAME VALUE:
#   share N PCT      device time of tenant N by the truth of the double, in percent of the elapsed time
#   mmr X            minimum over maximum of device time divided by weight
#   busy PCT         device time of all tenants in percent of the elapsed time
#   counted yes|no   the arbiter has counted each launch of the double, and the programs agree
#   delay PCT        CPU wait of the arbiter, or of the tenant that waited most, in percent of the elapsed time
#   machine quiet|busy
# Prints "missing REASON" and exits with 3 if this machine cannot run it.
import argparse
import os
import sys
import time

sys.dont_write_bytecode = True
from host import Host, Missing, Tenant, clean_up_on_term, run_delay_ns, stolen_ns, until  # noqa: E402

BUSY_PCT = 5  # a machine is too busy to judge shares if programs waited longer for a CPU


class Result:
    """What happened between two instants: shares in percent of the elapsed time, by tenant."""

    def __init__(self, tenants, before, after, delays_ns):
        self.elapsed_ns = after[0]["clock_ns"] - before[0]["clock_ns"]
        self.used_ns = [after[1][each.name]["busy_ns"] - before[1].get(each.name, {}).get("busy_ns", 0) for each in tenants]
        self.shares = [100 * used / self.elapsed_ns for used in self.used_ns]
        parts = [used / each.weight for used, each in zip(self.used_ns, tenants)]
        self.mmr = min(parts) / max(parts) if max(parts) > 0 else 0.0
        self.busy_pct = sum(self.shares)
        self.delay_pct = 100 * max(delays_ns) / self.elapsed_ns
        self.counted = None

    @property
    def quiet(self):
        return self.delay_pct <= BUSY_PCT


def parse_tenant(number, text, depth):
    share, us = text.split(":")
    weight, _, cap = share.partition("/")
    return Tenant(f"t{number}", int(weight), int(cap or 0), float(us), ["--depth", str(depth)])


def delays(host):
    return [run_delay_ns(pid) for pid in host.pids()] + [stolen_ns() / os.cpu_count()]


def end_all(host):
    """Ends all programs normally. Returns whether programs, arbiter and double have counted the same launches."""
    done = {}
    for tenant in host.tenants:
        tenant.send(15)
    for tenant in host.tenants:
        words = tenant.process.communicate(timeout=60)[0].split()
        done[tenant.name] = int(words[1]) if words[:1] == ["done"] else -1

    def all_gone():
        return all(each["clients"] == 0 for each in host.accounts().values())
    until(all_gone)
    accounts, truth = host.accounts(), host.truth.read()[1]
    return all(done[name] == accounts[name]["units"] == truth[name]["launches"] for name in done)


def measure(host, tenants, seconds, settle_s=0.5):
    """Runs tenants on a host of its own. Returns a Result."""
    host.start_arbiter()
    for tenant in tenants:
        host.add(tenant)
    for tenant in tenants:
        host.start(tenant)
    until(lambda: all(host.launches(tenant) > 0 for tenant in tenants))
    time.sleep(settle_s)
    waited, before = delays(host), host.truth.read()
    time.sleep(seconds)
    after = host.truth.read()
    waited = [late - early for late, early in zip(delays(host), waited)]
    result = Result(tenants, before, after, waited)
    result.counted = end_all(host)
    return result


def measure_on_double(build, discipline, shares, seconds, depth=4):
    host = Host(build, "measure", discipline)
    try:
        tenants = [parse_tenant(number, text, depth) for number, text in enumerate(shares)]
        return measure(host, tenants, seconds)
    finally:
        host.close()


def main():
    clean_up_on_term()
    parser = argparse.ArgumentParser()
    parser.add_argument("--discipline", default="fair")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("tenants", nargs="+")
    options = parser.parse_args()
    try:
        result = measure_on_double(os.environ.get("B") or "build", options.discipline, options.tenants, options.seconds,
                                   options.depth)
    except Missing as error:
        print(f"missing {error}")
        sys.exit(3)
    for number, share in enumerate(result.shares):
        print(f"share {number} {share:.2f}")
    print(f"mmr {result.mmr:.4f}\nbusy {result.busy_pct:.2f}\ncounted {'yes' if result.counted else 'no'}")
    print(f"delay {result.delay_pct:.2f}\nmachine {'quiet' if result.quiet else 'busy'}")


if __name__ == "__main__":
    main()
