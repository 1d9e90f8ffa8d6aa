"""`openenv validate` of a running server: `python openenv_validate.py URL`. Prints what it found as JSON."""

import json
import subprocess
import sys
from pathlib import Path

openenv = Path(sys.executable).with_name("openenv")
run = subprocess.run([openenv, "validate", "--url", sys.argv[1], "--json"], capture_output=True, text=True)
report = json.loads(run.stdout)
print(
    json.dumps(
        {
            "passed": report["passed"] and run.returncode == 0,
            "failed": [c["id"] for c in report["criteria"] if not c["passed"]],
            "criteria": len(report["criteria"]),
        }
    )
)
