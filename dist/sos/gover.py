# SPDX-License-Identifier: MIT
# The plug-in of sos for gover: `sos report -o gover` collects what a bug report needs.
import json
import os

from sos.report.plugins import Plugin, DebianPlugin, RedHatPlugin, UbuntuPlugin

# Text that may contain a secret, in answers and in the journal.
SECRETS = (
    (r"gvr_[A-Za-z0-9_-]+", "gvr_REDACTED"),
    (r"(?i)\b(bearer|basic) +[^\s\"',]+", r"\1 REDACTED"),
    (r"(?i)\b([a-z_]*(?:password|passwd|secret|token|api_?key)[\"']?\s*[=:]\s*[\"']?)[^\s\"',;&]+", r"\1REDACTED"),
    # The user, path and query of a URL.
    (r"(https?://)[^\s\"'/@]*@", r"\1REDACTED@"),
    (r"(https?://[^\s\"'/]+)/[^\s\"']+", r"\1/REDACTED"),
)


# The policy for Debian in sos 4.0 does not load an IndependentPlugin.
class Gover(Plugin, RedHatPlugin, DebianPlugin, UbuntuPlugin):

    short_desc = "gover: shares of GPUs"

    plugin_name = "gover"
    profiles = ("virt", "hardware")
    packages = ("gover", "gover-fleet")
    commands = ("gover-ctl",)

    def setup(self):
        socket = os.environ.get("GOVER_SOCKET", "/run/gover/gover.sock")
        check = self.exec_cmd("gover-ctl --json config check", stderr=False)
        try:
            config = json.loads(check["output"])["path"]
        except (KeyError, TypeError, ValueError):
            config = "/etc/gover/gover.conf"
        # Both programs print their configuration without secrets. The files are not copied.
        self.add_forbidden_path(["/etc/gover", "/var/lib/gover"])
        self.add_cmd_output([
            "gover-ctl --version",
            "gover-ctl --json config check",
            "gover-ctl --json doctor",
            "gover-ctl --json status",
            "gover-ctl --json vgpu list",
            "gover-ctl --json alerts --all",
            "gover-ctl --json decisions --limit 1000",
            "gover-ctl --json offers --all",
            "gover-ctl --json policy show",
            f"gover-d --config {config} --print-config",
            "gover-fleet --print-config",
            "systemctl show gover-d.service gover-restore.service gover-fleet.service",
        ])
        self.add_cmd_output(f"curl -s --max-time 10 --unix-socket {socket} http://localhost/metrics",
                            suggest_filename="gover_metrics")
        self.add_journal(units=["gover-d", "gover-restore", "gover-arbiter", "gover-fleet"])

    def postproc(self):
        for regexp, subst in SECRETS:
            self.do_cmd_output_sub("*", regexp, subst)
