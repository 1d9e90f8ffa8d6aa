"""`openenv validate` of a running server, and rules in its form: `python openenv_validate.py URL RULES`. Prints what it found as JSON."""

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

from openenv.validation import CheckResult

openenv = Path(sys.executable).with_name("openenv")
run = subprocess.run([openenv, "validate", "--url", sys.argv[1], "--json"], capture_output=True, text=True)
report = json.loads(run.stdout)
results = [CheckResult.model_validate(rule) for rule in json.loads(sys.argv[2])]
known = {entry["check_id"] for entry in json.loads(files("openenv.validation").joinpath("policies/severity-v2.json").read_text())["entries"]}
print(
    json.dumps(
        {
            "passed": report["passed"] and run.returncode == 0,
            "failed": [c["id"] for c in report["criteria"] if not c["passed"]],
            "criteria": len(report["criteria"]),
            "rules": [result.check_id for result in results],
            "unknown": [result.check_id for result in results if result.check_id not in known],
        }
    )
)
