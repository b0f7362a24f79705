# SPDX-License-Identifier: MIT
# The commands of docs/openstack.md, so that the document contains only commands that work. A block of kind sh runs where its first line
# says. The commands and their output are written to commands.log.
import os
import re
import subprocess

import cloud

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "openstack.md")
SECTION = re.compile(r"^## (\d+)\. (.*?)$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```sh\n# on (the controller|each host)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LIMIT_S = 300


class Document:
    def __init__(self, out):
        with open(DOCUMENT, encoding="utf-8") as file:
            self.sections = {number: (title, BLOCK.findall(text)) for number, title, text in SECTION.findall(file.read())}
        self.log = os.path.join(out, "commands.log")

    def run(self, number, controller, hosts):
        """Runs the commands of a section. Returns its title."""
        title, blocks = self.sections[number]
        if not blocks:
            raise cloud.Failed(f"docs/openstack.md: section {number}: no commands")
        for where, commands in blocks:
            for place in [controller] if where == "the controller" else hosts:
                self.run_block(number, place, commands)
        return title

    def run_block(self, number, place, commands):
        done = subprocess.run(place.command("sh", "-eux"), input=commands, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=LIMIT_S)
        with open(self.log, "a", encoding="utf-8") as log:
            log.write(f"=== section {number}, {place.name}\n{done.stdout}")
        if done.returncode:
            raise cloud.Failed(f"docs/openstack.md: section {number}, {place.name}: {done.stdout[-400:]}")
